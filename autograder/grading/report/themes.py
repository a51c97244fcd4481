"""Themes: misconceptions that mistakes of several lessons have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...exercises import misconceptions_of
from ...exercises.theme import Theme
from ..class_counts.counts import Graded, Wrong

LESSONS = 3  # so many lessons with mistakes of one theme make a student stuck


@dataclass(frozen=True)
class Stuck:
    """A student with mistakes of one theme in several lessons.

    `mistakes` are pairs of an assignment and a group of wrong answers with the student in it.
    """

    student: str
    theme: Theme
    mistakes: tuple[tuple[str, Wrong], ...]


def stuck_students(graded: Sequence[Graded]) -> list[Stuck]:
    """Return the students with mistakes of one theme in three lessons or more, ordered by theme and name."""
    found: dict[tuple[Theme, str], list[tuple[str, Wrong]]] = defaultdict(list)
    for each in graded:
        for theme, wrong in _themed(each):
            for student in wrong.students:
                found[theme, student].append((each.assignment, wrong))
    return [
        Stuck(student, theme, tuple(mistakes))
        for (theme, student), mistakes in sorted(found.items(), key=lambda item: item[0])
        if _lessons(mistakes) >= LESSONS
    ]


def _themed(graded: Graded) -> list[tuple[Theme, Wrong]]:
    """Return pairs of theme and group, for the groups of wrong answers whose mistake belongs to a theme."""
    found = []
    for answered in graded.exercises.values():
        for wrong in answered.wrong(recognised=True):
            known = misconceptions_of(wrong.exercise).get(wrong.mistake or "")
            if known and known.theme.heading:
                found.append((known.theme, wrong))
    return found


def _lessons(mistakes: Sequence[tuple[str, Wrong]]) -> int:
    return len({wrong.exercise.lesson for _, wrong in mistakes})


def by_student(found: Sequence[Stuck]) -> Mapping[str, list[Stuck]]:
    """Return a dict from student to the entries of `found` about this student."""
    students: dict[str, list[Stuck]] = defaultdict(list)
    for each in found:
        students[each.student].append(each)
    return students
