"""Themes: misconceptions that mistakes of several lessons have in common."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...language import Text
from .counts import Graded, Wrong

LESSONS = 3  # with mistakes of one theme: then a student is stuck
# By the names of mistakes. Many mistakes belong to no theme.
_NAMES = {
    "accumulation": r"clears|overwrit|starts_at_zero|leaves_zeros|zeroes_|forgets_to_clear|(old|earlier)_gradient",
    "scaling": r"takes_the_mean|sums_the_means|mean_of|of_a_mean|never_divides|divides_(by|twice)|forgets_to_divide",
    "recording": r"detach|no_grad|cuts_|as_number|requires_grad|recording|freez",
    "graph_life": r"frees|retain|keeps_the_(graph|history)|leak|create_graph",
    "in_place": r"in_place|alias|snapshot|edits|changes_x|shares_(memory|storage|the)|writes_into",
    "return": r"returns_nothing|forgets_to_return",
}
TITLES = {
    "accumulation": Text("gradients add up in `.grad`", "градиенты накапливаются в `.grad`"),
    "scaling": Text("mean or sum: by what to divide", "среднее или сумма: на что делить"),
    "recording": Text("what autograd records, and what is cut off", "что записывает autograd и что отсоединено"),
    "graph_life": Text("how long a graph lives", "сколько живёт граф"),
    "in_place": Text("changes in place, and names for one memory", "изменения на месте и общая память"),
    "return": Text("a function must return its result", "функция должна вернуть результат"),
}


@dataclass(frozen=True)
class Stuck:
    """A student with mistakes of one theme in several lessons.

    `mistakes` are pairs of an assignment and a group of wrong answers with the student in it.
    """

    student: str
    theme: str
    mistakes: tuple[tuple[str, Wrong], ...]


def theme_of(mistake: str) -> str | None:
    """Return the theme of a mistake, or None. `mistake` is its name."""
    return next((theme for theme, names in _NAMES.items() if re.search(names, mistake)), None)


def stuck_students(graded: Sequence[Graded]) -> list[Stuck]:
    """Return the students with mistakes of one theme in three lessons or more, ordered by theme and name."""
    found: dict[tuple[str, str], list[tuple[str, Wrong]]] = defaultdict(list)
    for each in graded:
        for theme, wrong in _themed(each):
            for student in wrong.students:
                found[theme, student].append((each.assignment, wrong))
    return [
        Stuck(student, theme, tuple(mistakes))
        for (theme, student), mistakes in sorted(found.items(), key=lambda item: item[0])
        if _lessons(mistakes) >= LESSONS
    ]


def _themed(graded: Graded) -> list[tuple[str, Wrong]]:
    """Return pairs of theme and group, for the groups of wrong answers whose mistake belongs to a theme."""
    found = []
    for answered in graded.exercises.values():
        for wrong in answered.wrong(recognised=True):
            theme = theme_of(wrong.mistake or "")
            if theme and wrong.mistake in wrong.exercise.mistakes:
                found.append((theme, wrong))
    return found


def _lessons(mistakes: Sequence[tuple[str, Wrong]]) -> int:
    return len({wrong.exercise.lesson for _, wrong in mistakes})


def by_student(found: Sequence[Stuck]) -> Mapping[str, list[Stuck]]:
    """Return the same entries by student."""
    students: dict[str, list[Stuck]] = defaultdict(list)
    for each in found:
        students[each.student].append(each)
    return students
