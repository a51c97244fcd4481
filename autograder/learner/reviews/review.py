"""`review()`: exercises that are due, in new cells.

`check` counts the results with functions of this module.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ...checking.exercise import Exercise
from ...checking.verdict import Verdict, VerdictState
from ...history import History, read_history
from ...language import Note, Text
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..cells_run import is_bound_in, shell
from ..notebooks.headings import title_of_lesson
from ..replies import Prose, Reply, TableReply
from .again import next_table
from .schedule import DAY, LADDER, Schedule, climb, make_schedule
from .statement import describe_exercise, exercise_label, state

AT_ONCE = 3  # exercises of one call


def due_now() -> tuple[Exercise, ...]:
    """Return the exercises that are due for review. While nbgrader runs the notebook, none is."""
    return () if being_graded() else make_schedule(read_history(), time.time()).due


def offer() -> Prose | Reply:
    """Show up to three exercises that are due, and put the first of them into a new cell.

    A front end makes one new cell for each cell that is run. Where there is no IPython, all of them are shown as text.
    """
    if being_graded():
        return Reply((message("run.checking", name="review"),))
    history, now = read_history(), time.time()
    schedule = make_schedule(history, now)
    warnings = list(_warnings(history, schedule))
    if not schedule.due:
        return Reply((message("review.none"), *_outlook(schedule), *warnings))
    shown, language, ipython = schedule.due[:AT_ONCE], SESSION.speaks, shell()
    head = message("review.title", count=len(schedule.due)).read(language)
    names = [f"{number}. {exercise_label(each, language)}" for number, each in enumerate(shown, 1)]
    parts = [f"**{head}**", "\n".join(names)]
    for exercise in shown[:1] if ipython else shown:
        statement = state(exercise, language, next_table(exercise))
        SESSION.reviewed.add(exercise.name)
        parts += describe_exercise(exercise, statement, language, with_code=ipython is None)
        if ipython:
            ipython.set_next_input(statement.cell, replace=False)
    if ipython:
        parts += [message("review.then").read(language)] if len(schedule.due) > 1 else []
    return Prose(Text.same("\n\n".join([*parts, *(each.read(language) for each in warnings)])))


def list_due(language: str) -> TableReply | Reply:
    """Return a table of all exercises that are due, for a terminal, or a `Reply` if none is."""
    history, now = read_history(), time.time()
    schedule, rungs = make_schedule(history, now), climb(history.checks, now)
    warnings = list(_warnings(history, schedule))
    SESSION.language = language
    if not schedule.due:
        return Reply((message("review.none"), *_outlook(schedule), *warnings))

    def say(id: str) -> str:
        return message(id).read(language)

    titles = {each.lesson: title_of_lesson(each.lesson, language) for each in schedule.due}
    rows = []
    for each in schedule.due:
        days = int((now - (rungs[each.name].due or now)) // DAY)
        mistaken = say("review.yes") if each.name in schedule.mistaken else ""
        rows.append((titles[each.lesson], exercise_label(each, language), str(days or say("review.today")), mistaken))
    head = tuple(say(id) for id in ("progress.lesson", "progress.exercise", "review.since", "review.mistake"))
    title = message("review.title", count=len(rows)).read(language)
    below = (say("review.command"), *(each.read(language) for each in warnings))
    return TableReply(title, head, tuple(rows), below)


def is_review(exercise: Exercise, verdict: Verdict, namespace: Mapping[str, Any], variant: int | None) -> bool:
    """Return whether a check answers what `review` has asked for, or a variant of an exercise that is due.

    In IPython the answer stands in the cell that is run. A whole notebook that is run again therefore counts as
    nothing, although its old answers pass.
    """
    if verdict.state not in (VerdictState.PASSED, VerdictState.NOT_YET) or being_graded():
        return False
    if exercise.name not in SESSION.reviewed:
        due = make_schedule(read_history(exercise.name), time.time()).due if variant else ()
        return any(each.name == exercise.name for each in due)
    cells = namespace.get("In")
    return not isinstance(cells, list) or not shell() or is_bound_in(cells[-1:], exercise.asks)


def review_notes(exercise: Exercise, verdict: Verdict, *, counts: bool) -> tuple[Note, ...]:
    """Return a note on the place of an exercise on the ladder if a check counts as a review.

    If `review` has asked for the exercise, and the answer is in another cell than the check, a note says so.
    """
    if counts:
        return (_count_review(exercise),)
    answered = verdict.state in (VerdictState.PASSED, VerdictState.NOT_YET)
    return (Note("note.review.elsewhere", {}),) if answered and exercise.name in SESSION.reviewed else ()


def _count_review(exercise: Exercise) -> Note:
    SESSION.reviewed.discard(exercise.name)
    step = climb(read_history(exercise.name).checks, time.time())[exercise.name].step
    if step == 0:
        return Note("note.review.down", {})
    return Note("note.review.up", {"days": LADDER[step]}) if step < len(LADDER) else Note("note.review.last", {})


def _outlook(schedule: Schedule) -> Iterator[Text]:
    """Yield a sentence on the day when something is due."""
    if schedule.later is None:
        yield message("review.never")
    else:
        yield message("review.later", date=f"{datetime.fromtimestamp(schedule.later):%Y-%m-%d}")


def _warnings(history: History, schedule: Schedule) -> Iterator[Text]:
    """Yield a sentence on each thing in the history that is not as it should be."""
    for id, count in (("ahead", schedule.ahead), ("broken", history.broken), ("foreign", history.foreign)):
        if count:
            yield message(f"review.{id}", count=count)
    for id, names in (("gone", schedule.gone), ("changed", schedule.changed)):
        if names:
            yield message(f"review.{id}", names=", ".join(f"`{name}`" for name in names))
    if history.refused:
        yield message("review.refused", error=history.refused)
