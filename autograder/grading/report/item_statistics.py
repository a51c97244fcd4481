"""Difficulty and discrimination of exercises.

Definitions: Crocker and Algina, Introduction to Classical and Modern Test Theory, chapter 14.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

_FEWEST = 10  # students: the correlation of fewer pairs says little


@dataclass(frozen=True)
class ItemStatistics:
    """Two numbers on one exercise.

    `difficulty` is the mean share of the points that students got, from 0 to 1: a small number is a hard exercise.
    `discrimination` is the correlation of this share with the points for all other exercises. It is None if there are
    fewer than 10 students, or if all students have the same points.
    """

    difficulty: float
    discrimination: float | None


def item_statistics(
    earned: Mapping[str, Mapping[str, float]], points: Mapping[str, float]
) -> dict[str, ItemStatistics]:
    """Return a dict from exercise to its statistics.

    `earned` maps an exercise to a dict from student to points. `points` maps exercises to their maximum points.
    """
    totals: dict[str, float] = {}
    for by_student in earned.values():
        for student, score in by_student.items():
            totals[student] = totals.get(student, 0.0) + score
    found = {}
    for name, by_student in earned.items():
        if by_student and points[name]:
            mine = list(by_student.values())
            rest = [totals[student] - score for student, score in by_student.items()]
            found[name] = ItemStatistics(statistics.mean(mine) / points[name], _correlation(mine, rest))
    return found


def _correlation(mine: list[float], rest: list[float]) -> float | None:
    if len(mine) < _FEWEST:
        return None
    try:
        return statistics.correlation(mine, rest)
    except statistics.StatisticsError:  # all the same
        return None
