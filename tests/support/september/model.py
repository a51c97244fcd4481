"""What the grades must be: the rules once more, in plain arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from support.september.lessons import ASSIGNMENTS, FIRST, NORM, SLOPE, TOTAL
from support.september.schedule import DUE, HandedIn

GRACE, DAY = 10, 24 * 60  # minutes
LATE_DAYS, ATTEMPTS = 2, 3
MAXIMUM = {FIRST: 10.0, TOTAL: 4.0, SLOPE: 4.0, NORM: 4.0}
_UNKNOWN = datetime(9999, 1, 1)


@dataclass(frozen=True)
class Expected:
    """The grade of one student: points of the answer, points off for lateness, and the attempt."""

    score: float
    penalty: float
    counted: HandedIn
    latest: HandedIn

    @property
    def points(self) -> float:
        return self.score - self.penalty


Grades = Mapping[str, Mapping[str, Expected]]


class Model:
    """An independent calculation of all grades.

    `worth` holds the points of each kind of answer, `first_step` the credit in percent on the first day, and
    `extended` whether the extensions are known.
    """

    def __init__(self, worth: Mapping[str, Mapping[str, float]], first_step: float, *, extended: bool) -> None:
        self._worth, self._steps, self._extended = worth, {DAY: first_step, 3 * DAY: 50.0}, extended

    def grades(self, handed_in: list[HandedIn]) -> dict[str, dict[str, Expected]]:
        """Return the grades by assignment and student."""
        attempts: dict[str, dict[str, list[HandedIn]]] = defaultdict(lambda: defaultdict(list))
        for each in handed_in:
            attempts[each.student][each.assignment].append(each)
        found: dict[str, dict[str, Expected]] = {assignment: {} for assignment in ASSIGNMENTS}
        for student, by_assignment in attempts.items():
            left = LATE_DAYS
            for assignment in sorted(by_assignment, key=DUE.__getitem__):
                ordered = sorted(by_assignment[assignment], key=lambda each: (each.came or _UNKNOWN, each.number))
                one = self._counted(ordered) if assignment == SLOPE else ordered[-1]
                late, used = self._late(one), 0
                while late - used * DAY > GRACE and used < left:
                    used += 1
                left -= used
                score = self._worth[assignment][one.kind]
                penalty = score - score * self._credit(late - used * DAY) / 100
                found[assignment][student] = Expected(score, penalty, one, ordered[-1])
        return found

    def _counted(self, ordered: list[HandedIn]) -> HandedIn:
        """Return the best of the first three attempts. Late days make no difference; of equal ones the first is it."""
        best, most = ordered[0], -math.inf
        for each in ordered[:ATTEMPTS]:
            points = self._worth[each.assignment][each.kind] * self._credit(self._late(each)) / 100
            if points > most:
                best, most = each, points
        return best

    def _late(self, each: HandedIn) -> int:
        """Return the minutes after the due date, the extension included."""
        if each.came is None:
            return 0
        days = each.person.extensions.get(each.assignment, 0) if self._extended else 0
        minutes = (each.came - DUE[each.assignment]).total_seconds() / 60 - days * DAY
        return max(0, int(minutes))

    def _credit(self, late: int) -> float:
        if late <= GRACE:
            return 100.0
        return next((credit for until, credit in self._steps.items() if late <= until), 0.0)


def rules(first_step: int) -> str:
    """Return the same rules as `course.toml`."""
    tables = [
        f"[assignments.{name}]\ndue = {due.isoformat()}"
        + (f'\nattempts = {ATTEMPTS}\ncounts = "best"' if name == SLOPE else "")
        for name, due in DUE.items()
    ]
    return "\n".join(
        [
            'language = "en"\ntime_zone = "Europe/Moscow"',
            f"late_days = {LATE_DAYS}\ndrop = 1",
            "[defaults]",
            f'grace = "{GRACE}min"',
            f'late = [{{until = "1d", credit = {first_step}}}, {{until = "3d", credit = 50}}]',
            *tables,
        ]
    )
