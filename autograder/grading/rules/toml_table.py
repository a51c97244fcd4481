"""Tables of a TOML file, read key by key with checks.

Error messages name the key.
"""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ...errors import UserError
from .spans import Span, end_of

_SPAN = re.compile(r"(\d{1,5})\s*(d|h|min)")
_UNITS = {"h": timedelta(hours=1), "min": timedelta(minutes=1)}
_LONGEST_SPAN, _LONGEST_TEXT = timedelta(days=9999), 100  # of a time span
_FIRST_YEAR, _LAST_YEAR = 1970, 2999  # dates are computed from these times: none may get beyond Python's calendar
_MOST_POINTS, _LARGEST_COUNT = 1_000_000, 1_000_000

EXAMPLES = {
    "time_zone": 'time_zone = "Europe/Moscow"',
    "language": 'language = "ru"',
    "late_days": "late_days = 3",
    "drop": "drop = 1",
    "release": "release = 2026-09-10T09:00:00",
    "due": "due = 2026-09-17T23:59:00",
    "grace": 'grace = "10min"',
    "late": 'late = [{until = "1d", credit = 80}, {until = "7d", credit = 50}]',
    "attempts": "attempts = 3",
    "counts": 'counts = "best"',
    "feedback": 'feedback = "after_due"',
    "solutions": 'solutions = "after_due"',
    "variants": 'variants = "per student"',
    "lessons": 'lessons = ["00_first_gradient", "01_leaf_tensors"]',
    "exercises": 'exercises = ["predict_accumulation", "train_epoch"]',
    "points": "points = {train_epoch = 10}",
    "assignments": "[assignments.03_gradient_accumulation]",
    "extensions": "03_gradient_accumulation +2d; 05_jacobian_products 2026-10-01 23:59",
}


@dataclass(frozen=True)
class Step:
    """The credit for late work up to a time.

    `until` is counted from the due date. `credit` is in percent of the points.
    """

    until: Span
    credit: float


class BadRule(UserError):
    """An error: a rule in `course.toml` or an extension is wrong.

    The message names the rule. `key` is the rule's key in `EXAMPLES`; the example is shown with the message.
    """

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message, EXAMPLES.get(key, ""))


def not_toml(text: str, source: str, error: ValueError) -> BadRule:
    """Return the error for a file that is not valid TOML.

    `text` is the content of the file, `source` its name in the message. The error shows an example of the key in the
    wrong line.
    """
    number = re.search(r"at line (\d+)", str(error))
    lines = text.splitlines()
    line = lines[int(number[1]) - 1] if number and int(number[1]) <= len(lines) else ""
    return BadRule(f"{source} is not valid TOML: {error}", re.split(r"[\s=.]", line.strip(" [{"))[0])


class TomlTable:
    """A table of a TOML file, read key by key.

    `where` names the table in messages. `seen` are the keys that were read. Each method returns the value of a key, or
    a default, and raises BadRule if the value is wrong.
    """

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self.values, self.where, self.seen = values, where, set[str]()

    def table(self, key: str) -> TomlTable:
        return TomlTable(self._get(key, dict, {}, "a table"), f"{self.where}, {key}")

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        value: str = self._get(key, str, default, "a text")
        if value not in known:
            raise BadRule(f"{self.where}: {key} is {value!r}; it can be {', '.join(known)}", key)
        return value

    def count(self, key: str) -> int:
        value: int = self._get(key, int, 0, "a whole number")
        if value < 0 or isinstance(value, bool):
            raise BadRule(f"{self.where}: {key} is {_shown(value)}; it must not be negative", key)
        if value > _LARGEST_COUNT:
            raise BadRule(f"{self.where}: {key} is {_shown(value)}; it is at most {_LARGEST_COUNT:,}", key)
        return value

    def names(self, key: str, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
        value = self._get(key, list, None, "a list of names")
        if value is None:
            return default
        if not all(isinstance(each, str) for each in value):
            raise BadRule(f"{self.where}: {key} must be a list of names", key)
        return tuple(value)

    def points(self, key: str) -> dict[str, float]:
        table = self._get(key, dict, {}, "a table of numbers")
        for name, value in table.items():
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _MOST_POINTS:
                most = f"points are a number that is not negative, and at most {_MOST_POINTS:,}"
                raise BadRule(f"{self.where}: {key}.{name} is {_shown(value)}; {most}", key)
        return {name: float(value) for name, value in table.items()}

    def zone(self, key: str) -> ZoneInfo:
        name = self._get(key, str, "UTC", "a text")
        try:
            return ZoneInfo(name)
        except (OSError, ValueError, LookupError, RecursionError) as error:  # a name with many dots is a module's
            raise BadRule(f"{self.where}: {key} is {name!r}, which is no time zone", key) from error

    def moment(self, key: str, zone: ZoneInfo, *, ends: bool) -> datetime | None:
        """Return a time in UTC. A date alone means its last moment if `ends` is True, else its first."""
        value = self._get(key, date, None, "a time or a date")
        if value is None:
            return None
        alone = not isinstance(value, datetime)
        # Noon of a last day only shows that the year is possible: clocks may skip its midnight.
        stated = datetime.combine(value, time(12 if ends else 0)) if alone else value
        moment = local_moment(stated, zone, f"{self.where}: {key}")
        return end_of(value, zone) if alone and ends else moment

    def span(self, key: str) -> Span:
        return read_span(self._get(key, str, "0d", "a text"), f"{self.where}: {key}")

    def late(self, key: str) -> tuple[Step, ...]:
        steps = []
        for number, each in enumerate(self._get(key, list, [], "a list of steps"), 1):
            where = f"{self.where}: step {number} of {key}"
            if not isinstance(each, dict) or each.keys() != {"until", "credit"} or not isinstance(each["until"], str):
                raise BadRule(f"{where} needs a time and a credit", key)
            if not isinstance(each["credit"], (int, float)) or not 0 <= each["credit"] <= 100:
                raise BadRule(f"{where}: the credit is {_shown(each['credit'])}; it is a percentage from 0 to 100", key)
            steps.append(Step(read_span(each["until"], where), float(each["credit"])))
        for first, second in itertools.pairwise(steps):
            if not (first.until.length < second.until.length and first.credit > second.credit):
                raise BadRule(
                    f"{self.where}: from step to step of {key} the time must grow and the credit must fall", key
                )
        return tuple(steps)

    def refuse_unknown(self) -> None:
        """Raise BadRule if the table has a key that no method was asked for."""
        unknown = [key for key in self.values if key not in self.seen]
        if unknown:
            near = difflib.get_close_matches(unknown[0], self.seen, n=1)
            known = ", ".join(sorted(self.seen))
            raise BadRule(f"{self.where}: unknown: {', '.join(unknown)}; known here: {known}", *near)

    def _get(self, key: str, kind: type, default: Any, expected: str) -> Any:
        self.seen.add(key)
        value = self.values.get(key, default)
        if value is not None and value is not default and not isinstance(value, kind):
            raise BadRule(f"{self.where}: {key} is {_shown(value)}; expected {expected}", key)
        return value


def _shown(value: Any) -> str:
    """Return a value of a TOML file as an error message shows it."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > 64:  # Python refuses to write long numbers in digits
        return "a number with many digits"
    return repr(value)


def read_span(text: str, where: str) -> Span:
    """Return the time span that a text like "10min", "36h", "2d" or "1d 12h" states.

    `where` names the text in messages. Raises BadRule for other texts.
    """
    right = len(text) <= _LONGEST_TEXT and re.fullmatch(rf"({_SPAN.pattern}\s*)+", text.strip())
    said = _SPAN.findall(text) if right else []
    days = sum(int(number) for number, unit in said if unit == "d")
    span = Span(days, sum((int(number) * _UNITS[unit] for number, unit in said if unit != "d"), timedelta(0)))
    if not said or span.length > _LONGEST_SPAN:
        most = f"it has at most {_LONGEST_SPAN.days} days"
        raise BadRule(f"{where} is {text!r}; a time span looks like 10min, 36h, 2d or 1d 12h, and {most}")
    return span


def local_moment(value: datetime, zone: ZoneInfo, where: str) -> datetime:
    """Return the time `value` in UTC. If `value` has no time zone, it is in `zone`.

    In autumn an hour comes twice: the second one is taken. `where` names the time in messages.
    Raises BadRule for a time in the hour that clocks skip in spring, and for years long ago or far away.
    """
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise BadRule(f"{where} is in the year {value.year}; it can be in the years {_FIRST_YEAR} to {_LAST_YEAR}")
    if value.tzinfo is not None:
        return value.astimezone(UTC)
    moment = value.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != value.replace(fold=0):
        raise BadRule(f"{where} is {value:%Y-%m-%d %H:%M}, which does not exist in {zone.key}: clocks skip that hour")
    return moment
