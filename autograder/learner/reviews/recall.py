"""`recall()`: two questions on what a lesson builds on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ... import exercises
from ...checking.verdict import VerdictState
from ...history import Check, QuestionKind, read_history
from ...language import LANGUAGES, Text
from ...lessons.prose.recall import exercises_to_recall
from ...lessons.source import NOTEBOOKS
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..notebooks.notebook_file import read_notebook
from ..points import saved_notebook
from ..replies import Prose, Reply
from .why import Why

QUESTIONS = 2


def ask_recall(said: Sequence[bool]) -> Prose | Reply:
    """Show the questions for the lesson of this notebook, or record whether the answers to those shown were right.

    Answers count once, and only if the questions were shown in this kernel: whoever runs a whole notebook again has not
    answered again.
    """
    if being_graded():
        return Reply((message("run.checking", name="recall"),))
    if said:
        return _record(said)
    asked = recall_questions(SESSION.lesson or "", read_history().checks)
    if not asked:
        return Reply((message("recall.none"),))
    SESSION.recalled = tuple(each.exercise.name for each in asked)
    return Prose(Text(*(_page(asked, one) for one in LANGUAGES)))


def recall_questions(lesson: str, checks: Iterable[Check]) -> list[Why]:
    """Return questions why on the lessons that `lesson` needs, the most urgent first.

    A question that was answered wrongly comes first, then those that were never answered, then the one whose answer is
    the oldest.
    """
    last = {
        each.verdict.exercise: (place, each.verdict.state == VerdictState.PASSED)
        for place, each in enumerate(checks)
        if each.question is QuestionKind.WHY
    }

    def urgency(asked: Why) -> tuple[int, int]:
        place, is_right = last.get(asked.exercise.name, (-1, True))
        return (0, place) if not is_right else (1, place)

    return sorted(map(Why, exercises_to_recall(lesson, _needs(lesson))), key=urgency)[:QUESTIONS]


def _needs(lesson: str) -> str:
    """Return the numbers of the lessons that a lesson needs, as its notebook states them.

    A lesson of an instructor has only the notebook that runs.
    """
    path = next((NOTEBOOKS / "en").glob(f"[0-9][0-9]_{lesson}.ipynb"), None)
    metadata = read_notebook(path)["metadata"] if path else saved_notebook({}).metadata
    return str(metadata.get("autograder", {}).get("needs", ""))


def _page(asked: Sequence[Why], language: str) -> str:
    parts = [f"**{number}.** {each.text(language)}" for number, each in enumerate(asked, 1)]
    return "\n\n".join([*parts, message("recall.then", example=_call(len(asked))).read(language)])


def _call(count: int) -> str:
    """Return a call that says that all answers but the last were right."""
    return f"recall({', '.join(['True'] * (count - 1) + ['False'])})"


def _record(said: Sequence[bool]) -> Reply:
    names, SESSION.recalled = SESSION.recalled, ()
    if not names:
        return Reply((message("recall.shown_before"),))
    if len(said) != len(names) or not all(isinstance(each, bool) for each in said):
        SESSION.recalled = names
        return Reply((message("recall.answers", example=_call(len(names))),))
    wrong = [name for name, is_right in zip(names, said) if not is_right]
    for name, is_right in zip(names, said):
        Why(exercises.find(name)).mark(is_right)
    return Reply((message("recall.again" if wrong else "recall.right"),))
