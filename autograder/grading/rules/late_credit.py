"""Credit for late work: extensions, late days and late steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil

from ...language import Text
from .course_file import Rules
from .spans import end_of
from .toml_table import BadRule, local_moment, read_span

_DATE_ALONE = len("2026-10-01")
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class HandIn:
    """The time of a submission, and the time when it was due.

    `time` is None if it is unknown. `due` is the due date with the student's extension, or None if there is none.
    """

    time: datetime | None
    due: datetime | None

    @property
    def late(self) -> timedelta:
        """The time that has passed between the due date and the submission. It is 0 for work in time."""
        return max(timedelta(0), self.time - self.due) if self.time and self.due else timedelta(0)


@dataclass(frozen=True)
class Credit:
    """The credit for one submission.

    `percent` is the share of the points, 100 for work in time. `late` is the time that has passed since the due date,
    or since the end of the student's extension. `late_days` is the number of the student's late days that this
    submission uses.
    """

    percent: float
    late: timedelta = timedelta(0)
    late_days: int = 0


def read_extensions(text: str, rules: Rules, where: str) -> dict[str, timedelta]:
    """Return a dict from assignment to additional time, read from a cell of `students.csv`.

    `text` is like "03_gradient_accumulation +2d; 05_jacobian_products 2026-10-01 23:59". A date without a time means
    the end of that date. `where` names the cell in messages.
    Raises BadRule if an extension has another form, or if the assignment has no due date.
    """
    found = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, said = part.partition(" ")
        due = rules.of(name).due
        if due is None:
            known = ", ".join(sorted(each for each, one in rules.assignments.items() if one.due)) or "none"
            raise BadRule(f"{where}: {name!r} is no assignment with a due date; with one are: {known}", "extensions")
        said = said.strip()
        if said.startswith("+"):
            span = read_span(said[1:].strip(), f"{where}: the extension {part!r}")
            found[name] = span.after(due, rules.zone) - due
            continue
        try:
            alone = len(said) == _DATE_ALONE
            time = end_of(date.fromisoformat(said), rules.zone) if alone else datetime.fromisoformat(said)
            moment = local_moment(time, rules.zone, f"{where}: the extension {part!r}")
        except (ValueError, OverflowError) as error:
            raise BadRule(f"{where}: the extension {part!r} is neither a time span nor a time", "extensions") from error
        if moment < due:
            raise BadRule(f"{where}: the extension {part!r} ends before the assignment is due")
        found[name] = moment - due
    return found


def credits(rules: Rules, handed_in: Mapping[str, HandIn]) -> dict[str, Credit]:
    """Return a dict from assignment to the credit for one student's submission.

    `handed_in` maps assignments to times. Late days are used in the order of the due dates: each pays for one day of
    the calendar in the course's time zone, or for a part of it. The grace of an assignment costs no late day.
    """
    left = rules.late_days
    found = {}
    for name in sorted(handed_in, key=lambda name: (rules.of(name).due or _NEVER, name)):
        one, each = rules.of(name), handed_in[name]
        if one.due is None or each.due is None or each.time is None:
            found[name] = Credit(100.0)
            continue
        used = 0
        while used < left and each.time > one.grace.after(each.due, rules.zone, used):
            used += 1
        left -= used
        found[name] = Credit(one.credit(each.time, each.due, rules.zone, used), each.late, used)
    return found


def describe_credit(span: timedelta) -> Text:
    """Return a time span in words, for example "1 d 2 h" or "5 min". Seconds are rounded up to minutes."""
    minutes = ceil(span / timedelta(minutes=1))
    numbers = (minutes // 1440, minutes % 1440 // 60, minutes % 60)
    en, ru = (
        " ".join(f"{number}{unit}" for number, unit in zip(numbers, units) if number) or f"0{units[-1]}"
        for units in ((" d", " h", " min"), ("\N{NO-BREAK SPACE}дн.", "\N{NO-BREAK SPACE}ч", "\N{NO-BREAK SPACE}мин"))
    )
    return Text(en, ru)
