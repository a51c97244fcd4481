"""The file `course.toml`: time zone, assignments, deadlines, late credit.

Model: PrairieLearn's access control, with a due date, later deadlines with less credit, and overrides by student.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ...errors import UserError
from ...language import LANGUAGES

FILE = "course.toml"
_SPAN = re.compile(r"(\d+)\s*(d|h|min)")
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "min": timedelta(minutes=1)}


class BadRule(UserError):
    """The error that a rule is wrong.

    The message names the rule.
    """


@dataclass(frozen=True)
class LateStep:
    """The credit for late work up to a time.

    `until` is counted from the due date. `credit` is in percent of the points.
    """

    until: timedelta
    credit: float


@dataclass(frozen=True)
class AssignmentRules:
    """The rules of one assignment.

    All times are in UTC. `lessons` are the lessons it is made of. `exercises` are the exercises that count, or None for
    the lesson's core. `points` maps exercises to other points than the lesson's. After the last step of `late` there is
    no credit.
    """

    name: str
    lessons: tuple[str, ...]
    exercises: tuple[str, ...] | None = None
    points: Mapping[str, float] = field(default_factory=dict)
    release: datetime | None = None
    due: datetime | None = None
    grace: timedelta = timedelta(0)
    late: tuple[LateStep, ...] = ()

    def credit(self, late: timedelta) -> float:
        """Return the credit in percent for work that comes `late` after the due date. Work in time gets 100."""
        if late <= self.grace:
            return 100.0
        return next((step.credit for step in self.late if late <= step.until), 0.0)


@dataclass(frozen=True)
class Rules:
    """The rules of a course.

    `late_days` is each student's number of days that cost no credit. `drop` is the number of assignments, the worst
    ones, that do not count for the course's total.
    """

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    language: str = LANGUAGES[0]
    late_days: int = 0
    drop: int = 0
    assignments: Mapping[str, AssignmentRules] = field(default_factory=dict)

    def of(self, assignment: str) -> AssignmentRules:
        """Return the rules of an assignment. Without rules of its own it has no deadline."""
        return self.assignments.get(assignment) or AssignmentRules(assignment, (assignment,))


def read_rules(root: Path) -> Rules:
    """Read the rules of the course in the folder `root`. Without a file there are no deadlines.

    Raises BadRule if the file is wrong. The message names the key and what is expected.
    """
    path = root / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Rules()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRule(f"{path} cannot be read: {error}") from error
    return parse_rules(text, str(path))


def parse_rules(text: str, source: str) -> Rules:
    """Return the rules that the text of a `course.toml` states. `source` names the file in messages.

    Raises BadRule as `read_rules` does.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRule(f"{source} is not valid TOML: {error}") from error
    reader = _Table(table, source)
    zone = reader.zone("time_zone")
    language = reader.choice("language", LANGUAGES, LANGUAGES[0])
    late_days, drop = reader.count("late_days"), reader.count("drop")
    defaults = reader.table("defaults")
    assignments = {}
    each_table = reader.table("assignments")
    for name in list(each_table.values):
        assignments[name] = _assignment(name, each_table.table(name), defaults, zone)
    for part in (reader, defaults):
        part.refuse_unknown()
    return Rules(zone, language, late_days, drop, assignments)


def _assignment(name: str, table: _Table, defaults: _Table, zone: ZoneInfo) -> AssignmentRules:
    """Return the rules of one assignment. What `table` does not state is taken from `defaults`."""
    if not re.fullmatch(r"[\w.-]+", name) or "+" in name:
        raise BadRule(f"{table.where}: an assignment's name has letters, digits, - and _ only")
    table.values = {**defaults.values, **table.values}
    defaults.seen.update(defaults.values)
    rules = AssignmentRules(
        name,
        tuple(table.names("lessons", (name,)) or (name,)),
        table.names("exercises", None),
        table.points("points"),
        table.moment("release", zone),
        table.moment("due", zone),
        table.span("grace"),
        table.late("late"),
    )
    table.refuse_unknown()
    if rules.release and rules.due and rules.release >= rules.due:
        raise BadRule(f"{table.where}: it is due before it is released")
    return rules


class _Table:
    """A table of a TOML file, read key by key.

    `where` names the table in messages. `seen` are the keys that were read.
    """

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self.values, self.where, self.seen = values, where, set[str]()

    def table(self, key: str) -> _Table:
        return _Table(self._get(key, dict, {}, "a table"), f"{self.where}, {key}")

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        value: str = self._get(key, str, default, "a text")
        if value not in known:
            raise BadRule(f"{self.where}: {key} is {value!r}; it can be {', '.join(known)}")
        return value

    def count(self, key: str) -> int:
        value: int = self._get(key, int, 0, "a whole number")
        if value < 0 or isinstance(value, bool):
            raise BadRule(f"{self.where}: {key} is {value}; it must not be negative")
        return value

    def names(self, key: str, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
        value = self._get(key, list, None, "a list of names")
        if value is None:
            return default
        if not all(isinstance(each, str) for each in value):
            raise BadRule(f"{self.where}: {key} must be a list of names")
        return tuple(value)

    def points(self, key: str) -> dict[str, float]:
        table = self._get(key, dict, {}, "a table of numbers")
        for name, value in table.items():
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
                raise BadRule(f"{self.where}: {key}.{name} is {value!r}; points are a number that is not negative")
        return {name: float(value) for name, value in table.items()}

    def zone(self, key: str) -> ZoneInfo:
        name = self._get(key, str, "UTC", "a text")
        try:
            return ZoneInfo(name)
        except (OSError, ValueError, LookupError) as error:
            raise BadRule(
                f"{self.where}: {key} is {name!r}, which is no time zone; a name looks like Europe/Moscow"
            ) from error

    def moment(self, key: str, zone: ZoneInfo) -> datetime | None:
        value = self._get(key, datetime, None, "a time like 2026-09-17T23:59:00")
        return None if value is None else local_moment(value, zone, f"{self.where}: {key}")

    def span(self, key: str) -> timedelta:
        return read_span(self._get(key, str, "0d", "a text like 10min or 2d"), f"{self.where}: {key}")

    def late(self, key: str) -> tuple[LateStep, ...]:
        steps = []
        for number, each in enumerate(self._get(key, list, [], "a list of steps"), 1):
            where = f"{self.where}: step {number} of {key}"
            if not isinstance(each, dict) or each.keys() != {"until", "credit"}:
                raise BadRule(f'{where} must be like {{until = "2d", credit = 80}}')
            if not isinstance(each["credit"], (int, float)) or not 0 <= each["credit"] <= 100:
                raise BadRule(f"{where}: the credit is {each['credit']!r}; it is a percentage from 0 to 100")
            steps.append(LateStep(read_span(str(each["until"]), where), float(each["credit"])))
        for first, second in itertools.pairwise(steps):
            if not (first.until < second.until and first.credit > second.credit):
                raise BadRule(f"{self.where}: from step to step of {key} the time must grow and the credit must fall")
        return tuple(steps)

    def refuse_unknown(self) -> None:
        """Raise BadRule if the table has a key that nobody has read."""
        unknown = [key for key in self.values if key not in self.seen]
        if unknown:
            raise BadRule(f"{self.where}: unknown: {', '.join(unknown)}; known here: {', '.join(sorted(self.seen))}")

    def _get(self, key: str, kind: type, default: Any, expected: str) -> Any:
        self.seen.add(key)
        value = self.values.get(key, default)
        if value is not None and value is not default and not isinstance(value, kind):
            raise BadRule(f"{self.where}: {key} is {value!r}; expected {expected}")
        return value


def read_span(text: str, where: str) -> timedelta:
    """Return the time span that a text like "10min", "36h", "2d" or "1d 12h" states. Raises BadRule for other texts."""
    if not re.fullmatch(rf"({_SPAN.pattern}\s*)+", text.strip()):
        raise BadRule(f"{where} is {text!r}; a time span looks like 10min, 36h, 2d or 1d 12h")
    return sum((int(number) * _UNITS[unit] for number, unit in _SPAN.findall(text)), timedelta(0))


def local_moment(value: datetime, zone: ZoneInfo, where: str) -> datetime:
    """Return a time in UTC. A time without a time zone is in `zone`.

    In autumn an hour comes twice: the second one is taken. Raises BadRule for a time in the hour that clocks skip in
    spring.
    """
    if value.tzinfo is not None:
        return value.astimezone(UTC)
    moment = value.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != value.replace(fold=0):
        raise BadRule(f"{where} is {value:%Y-%m-%d %H:%M}, which does not exist in {zone.key}: clocks skip that hour")
    return moment
