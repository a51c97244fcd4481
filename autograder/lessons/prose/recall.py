"""Questions on what a lesson builds on, asked before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import exercises
from ...language import LANGUAGES, Text
from ...messages.lessons import say
from ...messages.markup import folded
from ..source import SOURCES, Lesson

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ...checking.exercise import Exercise

QUESTIONS = 2


def recall(lesson: Lesson) -> Text | None:
    """Return two questions on the lessons that a lesson needs, with folded answers, or None if it needs none.

    They are questions why of exercises that count, from the nearest lessons first.
    """
    asked = _chosen(lesson)
    if not asked:
        return None
    return Text(*("\n\n".join([say("recall", one), *(_question(each, one) for each in asked)]) for one in LANGUAGES))


def _chosen(lesson: Lesson) -> list[Exercise]:
    """Return the exercises whose questions are asked: another lesson asks others."""
    needed = [file.stem for number in lesson.needs.split(", ") if number for file in SOURCES.glob(f"{number}_*.py")]
    asking = [[each for each in exercises.load(name).values() if each.core and each.why] for name in reversed(needed)]
    turn = int(lesson.file_name[:2]) if lesson.file_name[:2].isdigit() else 0
    rounds = [[found[(turn + place) % len(found)] for found in asking if found] for place in range(QUESTIONS)]
    return [each for one in rounds for each in one][:QUESTIONS]


def _question(exercise: Exercise, language: str) -> str:
    assert exercise.why
    question, answer = exercise.why.question.read(language), exercise.why.because.read(language)
    return f"{question}\n\n{folded(say('recall_answer', language), answer)}"
