"""Steps in which the credit for late work falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class LateStep:
    """The credit for late work up to a time.

    `until` is counted from the due date. `credit` is in percent of the points.
    """

    until: timedelta
    credit: float


def credit_after(late: timedelta, grace: timedelta, steps: Sequence[LateStep]) -> float:
    """Return the credit in percent for work that comes `late` after the due date.

    Work within `grace` gets 100, work after the last step nothing.
    """
    if late <= grace:
        return 100.0
    return next((step.credit for step in steps if late <= step.until), 0.0)
