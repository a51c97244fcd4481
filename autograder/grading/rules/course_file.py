"""The file `course.toml`: time zone, assignments, deadlines, late credit.

Model: PrairieLearn's access control, with a due date, later deadlines with less credit, and overrides by student.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ...language import LANGUAGES
from .spans import NO_SPAN, Span
from .toml_table import BadRule, Step, TomlTable, not_toml

RULES_FILE = "course.toml"
_LONGEST = 100_000  # characters of the file: a key of as many parts takes a second
LATEST, BEST = "latest", "best"  # which attempt counts
AT_ONCE, AFTER_DUE = "at_once", "after_due"  # when students get feedback, or may see solutions
COMMON, PER_STUDENT = "common", "per student"  # whose tables of predictions


@dataclass(frozen=True)
class AssignmentRules:
    """The rules of one assignment.

    All times are in UTC. `lessons` are the lessons of which the assignment is made. `exercises` are the exercises that
    count, or None for the lessons' core. `points` maps exercises to other points than the lesson's. `late` are steps of
    falling credit; after the last step there is no credit.
    `attempts` is the number of attempts that are graded, or 0 for all. `counts` is LATEST or BEST, the attempt that
    counts. `feedback` is AT_ONCE or AFTER_DUE; without a due date students get feedback at once. `variants` tells whose
    tables of predictions students get: COMMON ones, or tables about other programs PER_STUDENT. `solutions` tells when
    the released notebook shows solutions to who gives up: AT_ONCE, or AFTER_DUE, when late work gets nothing any more.
    """

    name: str
    lessons: tuple[str, ...]
    exercises: tuple[str, ...] | None = None
    points: Mapping[str, float] = field(default_factory=dict)
    release: datetime | None = None
    due: datetime | None = None
    grace: Span = NO_SPAN
    late: tuple[Step, ...] = ()
    attempts: int = 0
    counts: str = LATEST
    feedback: str = AT_ONCE
    variants: str = COMMON
    solutions: str = AT_ONCE

    @property
    def chooses(self) -> bool:
        """True if another attempt than the latest one may count."""
        return bool(self.attempts) or self.counts != LATEST

    def credit(self, time: datetime, due: datetime, zone: ZoneInfo, late_days: int = 0) -> float:
        """Return the credit in percent for work that comes at `time`. Work in time gets 100.

        `due` is the due date with the student's extension. `late_days` are days of the calendar of `zone` by which
        everything is due later.
        """
        if time <= self.grace.after(due, zone, late_days):
            return 100.0
        return next((step.credit for step in self.late if time <= step.until.after(due, zone, late_days)), 0.0)

    def solutions_open(self, zone: ZoneInfo, late_days: int) -> datetime | None:
        """Return the time from which the released notebook shows solutions to who gives up, or None for at once.

        Nobody's late work gets points then: `late_days` are those that a student may use. Extensions are a student's
        own, and the notebook does not know them.
        """
        if self.due is None or self.solutions != AFTER_DUE:
            return None
        return max(span.after(self.due, zone, late_days) for span in (self.grace, *(step.until for step in self.late)))


@dataclass(frozen=True)
class Rules:
    """The rules of a course.

    `late_days` is each student's number of days that cost no credit. `drop` is the number of assignments, the worst
    ones, that do not count for the course's total. `states_zone` tells whether the file names the time zone. `lessons`
    are the lessons of this course beside those that an assignment names, or None for all.
    """

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    states_zone: bool = False
    language: str = LANGUAGES[0]
    late_days: int = 0
    drop: int = 0
    lessons: tuple[str, ...] | None = None
    assignments: Mapping[str, AssignmentRules] = field(default_factory=dict)

    def of(self, assignment: str) -> AssignmentRules:
        """Return the rules of an assignment. An assignment that the file does not state has no deadline."""
        return self.assignments.get(assignment) or AssignmentRules(assignment, (assignment,))


def read_rules(root: Path) -> Rules:
    """Read the rules of the course in the folder `root`. Without a file there are no deadlines.

    Raises BadRule if the file is wrong. The message names the key and what is expected.
    """
    path = root / RULES_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Rules()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRule(f"{path} cannot be read: {error}") from error
    return parse_rules(text, str(path))


def parse_rules(text: str, source: str) -> Rules:
    """Return the rules that `text`, the content of a `course.toml`, states. `source` names the file in messages.

    Raises BadRule if the text is wrong. The message names the key and what is expected.
    """
    if len(text) > _LONGEST:
        raise BadRule(f"{source} has {len(text):,} characters; at most {_LONGEST:,} are read: remove old comments")
    try:
        table = tomllib.loads(text)
    except RecursionError as error:
        raise BadRule(f"{source} has lists in lists, or tables in tables, too many of them") from error
    except ValueError as error:  # also a number with too many digits
        raise not_toml(text, source, error) from error
    reader = TomlTable(table, source)
    zone = reader.zone("time_zone")
    language = reader.choice("language", LANGUAGES, LANGUAGES[0])
    late_days, drop = reader.count("late_days"), reader.count("drop")
    lessons = reader.names("lessons", None)
    defaults = reader.table("defaults")
    assignments = {}
    each_table = reader.table("assignments")
    for name in list(each_table.values):
        assignments[name] = _assignment(name, each_table.table(name), defaults, zone)
    for part in (reader, defaults):
        part.refuse_unknown()
    return Rules(zone, "time_zone" in table, language, late_days, drop, lessons, assignments)


def _assignment(name: str, table: TomlTable, defaults: TomlTable, zone: ZoneInfo) -> AssignmentRules:
    """Return the rules of the assignment `name`. Keys that are missing in `table` are taken from `defaults`.

    Raises BadRule if a rule is wrong.
    """
    if not re.fullmatch(r"[\w.-]+", name) or "+" in name:
        raise BadRule(f"{table.where}: an assignment's name has letters, digits, - and _ only", "assignments")
    table.values = {**defaults.values, **table.values}
    defaults.seen.update(defaults.values)
    one = AssignmentRules(
        name,
        tuple(table.names("lessons", (name,)) or (name,)),
        table.names("exercises", None),
        table.points("points"),
        table.moment("release", zone, ends=False),
        table.moment("due", zone, ends=True),
        table.span("grace"),
        table.late("late"),
        table.count("attempts"),
        table.choice("counts", (LATEST, BEST), LATEST),
        table.choice("feedback", (AT_ONCE, AFTER_DUE), AT_ONCE),
        table.choice("variants", (COMMON, PER_STUDENT), COMMON),
        table.choice("solutions", (AT_ONCE, AFTER_DUE), AT_ONCE),
    )
    table.refuse_unknown()
    if one.release and one.due and one.release >= one.due:
        raise BadRule(f"{table.where}: it is due before it is released")
    return one
