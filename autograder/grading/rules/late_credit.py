"""Credit for late work: extensions, late days and late steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from ...language import Text
from .course_file import Rules
from .toml_table import BadRule, local_moment, read_span

_DAY = timedelta(days=1)
_NEVER = datetime.max.replace(tzinfo=UTC)


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

    `text` is like "03_gradient_accumulation +2d; 04_jacobian_products 2026-10-01 23:59". `where` names the cell in
    messages.
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
            found[name] = read_span(said[1:].strip(), f"{where}: the extension {part!r}")
            continue
        try:
            moment = local_moment(datetime.fromisoformat(said), rules.zone, f"{where}: the extension {part!r}")
        except ValueError as error:
            raise BadRule(f"{where}: the extension {part!r} is neither a time span nor a time", "extensions") from error
        if moment < due:
            raise BadRule(f"{where}: the extension {part!r} ends before the assignment is due")
        found[name] = moment - due
    return found


def credits(rules: Rules, late: Mapping[str, timedelta]) -> dict[str, Credit]:
    """Return a dict from assignment to the credit for one student's submission.

    `late` maps assignments to lateness, as `lateness` returns it. Late days are used in the order of the due dates:
    each pays for one day or a part of it. The grace of an assignment costs no late day.
    """
    left = rules.late_days
    found = {}
    for name in sorted(late, key=lambda name: (rules.of(name).due or _NEVER, name)):
        one = rules.of(name)
        if one.due is None:
            found[name] = Credit(100.0)
            continue
        used = min(left, max(0, ceil((late[name] - one.grace) / _DAY)))
        left -= used
        found[name] = Credit(one.credit(max(timedelta(0), late[name] - used * _DAY)), late[name], used)
    return found


def describe(span: timedelta) -> Text:
    """Return a time span in words, for example "1 d 2 h" or "5 min". Seconds are rounded up to minutes."""
    minutes = ceil(span / timedelta(minutes=1))
    numbers = (minutes // 1440, minutes % 1440 // 60, minutes % 60)
    en, ru = (
        " ".join(f"{number}{unit}" for number, unit in zip(numbers, units) if number) or f"0{units[-1]}"
        for units in ((" d", " h", " min"), ("\N{NO-BREAK SPACE}дн.", "\N{NO-BREAK SPACE}ч", "\N{NO-BREAK SPACE}мин"))
    )
    return Text(en, ru)
