"""Headings of exercises: name, title, kind, difficulty, minutes and points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...language import MINUTE, POINT
from ...messages.lessons import say
from ..source import Lesson
from .sections import exercise_minutes

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ...checking.exercise import Exercise

_HEADING = re.compile(r"^### `(\w+)`$", re.M)
_ANY = re.compile(r"^(### .*`(\w+)`.*)$", re.M)
_NAME = re.compile(r"[B-Z] |[A-Z][A-Z]|None\b|ReLU\b")  # begins a title, and keeps its capital


def heading_problems(lesson: Lesson, exercises: Mapping[str, Exercise]) -> Iterator[str]:
    """Yield a complaint for each heading of an exercise that says more than its name."""
    for cell in lesson.cells:
        for line, name in _ANY.findall(cell.source) if cell.kind == "markdown" else ():
            if name in exercises and not _HEADING.fullmatch(line):
                yield f"line {cell.line}: write the heading ### `{name}`, the rest is added: not {line}"


def with_headings(source: str, lesson: Lesson, exercises: Mapping[str, Exercise], language: str) -> str:
    """Return prose in which each heading that is only the name of an exercise says what the exercise is."""

    def whole(found: re.Match[str]) -> str:
        exercise = exercises.get(found[1])
        return found[0] if exercise is None else f"{_heading(exercise, language)}\n{_line(lesson, exercise, language)}"

    return _HEADING.sub(whole, source)


def _heading(exercise: Exercise, language: str) -> str:
    title = exercise.title.read(language)
    if not _NAME.match(title):
        title = title[:1].lower() + title[1:]
    return say("exercise" if exercise.core else "extra", language, name=exercise.name, title=title)


def _line(lesson: Lesson, exercise: Exercise, language: str) -> str:
    return say(
        "about" if exercise.core else "about_extra",
        language,
        kind=exercise.kind_says.read(language),
        dots="●" * exercise.difficulty + "○" * (3 - exercise.difficulty),
        minutes=MINUTE.counted(exercise_minutes(lesson, exercise), language),
        points=POINT.counted(exercise.points, language),
    )
