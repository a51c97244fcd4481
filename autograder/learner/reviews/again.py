"""`again()`: a variant of an exercise, in a new cell."""

from __future__ import annotations

from functools import cache

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...history import read_history
from ...language import Text
from ...lessons.source import lesson_source
from ...lessons.variants import expect_variant
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..cells_run import shell
from ..replies import Prose, Reply
from .statement import describe_exercise, state


def offer_variant(exercise: Exercise) -> Prose | Reply:
    """Show the next variant of an exercise, and put its stub into a new cell. Outside IPython it is shown as text."""
    refused = why_no_variant(exercise)
    if refused:
        return Reply((refused,))
    language, ipython = SESSION.speaks, shell()
    statement = state(exercise, language, next_variant(exercise))
    _, *parts = describe_exercise(
        exercise, statement, language, with_code=ipython is None
    )  # a rule parts it from a list
    if ipython:
        ipython.set_next_input(statement.cell, replace=False)
    return Prose(Text.same("\n\n".join(parts)))


def why_no_variant(exercise: Exercise, number: int = 1) -> Text | None:
    """Return why variant `number` of an exercise cannot be shown or checked, or None if it can."""
    if being_graded():
        return message("run.checking", name="again")
    return why_no_personal(exercise, number)


def why_no_personal(exercise: Exercise, number: int) -> Text | None:
    """Return why variant `number` of an exercise cannot be checked as the exercise itself, or None if it can."""
    if not isinstance(number, int) or number < 1:
        return message("again.number", number=repr(number), name=exercise.name)
    return None if lesson_source(exercise.lesson) else message("again.absent", name=exercise.name)


def next_variant(exercise: Exercise) -> int:
    """Return the number of a variant that neither the history nor this session has seen, and mark it as shown."""
    checked = (check.variant or 0 for check in read_history(exercise.name).checks)
    number = max([SESSION.variants.get(exercise.name, 0), *checked]) + 1
    SESSION.variants[exercise.name] = number
    SESSION.varied.add(exercise.name)
    return number


def expected_of(exercise: Exercise, number: int) -> Expected:
    """Return what solution and mistakes show on a variant. It is computed once, because a lesson may run seconds.

    Raises what `expect_variant` does.
    """
    return _expected(exercise.lesson, exercise.name, number)


@cache
def _expected(lesson: str, name: str, number: int) -> Expected:
    return expect_variant(exercises.find(name, lesson), number)
