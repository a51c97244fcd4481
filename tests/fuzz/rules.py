"""Fuzzing of the rules in `course.toml`, with all that is computed from them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from autograder.grading.rules.applied_rules import hand_in, written_rules
from autograder.grading.rules.course_file import read_rules
from autograder.grading.rules.late_credit import credits, describe_credit
from autograder.grading.rules.toml_table import EXAMPLES, BadRule
from autograder.grading.tables.roster import Roster, Student
from fuzz.mutations import change_bytes, change_text
from grading.rules.test_course_file import WHOLE

_TEMPLATES = Path(__file__).parents[2] / "autograder" / "grading" / "templates" / "course"
_FOLDER = tempfile.TemporaryDirectory()
_COURSE = Path(_FOLDER.name)
_VALUES = (
    "1", "-1", "0", "true", "1.5", "nan", "-inf", "inf", "1e400", "9" * 5000, "0x" + "f" * 5000, "9" * 300, "[]", "{}",
    "[[]]", '""', '"UTC"', '"../etc"', '"Europe"', '"posix/UTC"', '"\\u0000"', '"1d"', '"999999999d"',
    '"99999999999999999999d"', '"1d 12h 3min"', "0001-01-01T00:00:00", "9999-12-31T23:59:59",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-03-29T02:30:00", "2026-01-01", "10:00:00",
    '"Pacific/Apia"', '"America/St_Johns"', '"best"', '"after_due"', '{until = "1d", credit = 5}', "[" * 999,
    "[" * 2000, "{a=" * 990, "a." * 2000, "'", '"""', "'''", '"\\ud800"', '"\\U0010ffff"',
    '["03_gradient_accumulation"]',
)  # fmt: skip
_LINES = (
    "[defaults]", "[assignments]", '[assignments."a b"]', "[assignments.b]", "[[assignments.b]]",
    "[assignments.03_gradient_accumulation.points]", "#",
)  # fmt: skip
_EXTENSIONS = (
    "03_gradient_accumulation +2d", "05_jacobian_products 2026-10-01 23:59", "03_gradient_accumulation 9999-12-31",
    "03_gradient_accumulation 0001-01-01", "a +999999999d", "a 2026-10-01T00:00+23:59",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    """Yield the files of new courses, and one with all keys."""
    for path in _TEMPLATES.glob("course.*.txt"):
        yield path.read_bytes()
        yield path.read_bytes().replace(b"\n# ", b"\n").replace(b"\n#", b"\n")
    yield WHOLE.encode()
    yield "\n".join([*list(EXAMPLES.values())[:4], "[assignments.a]", *list(EXAMPLES.values())[4:-2]]).encode()


def read(data: bytes) -> None:
    """Read a `course.toml`, put its rules into words, and apply them to submissions and extensions."""
    (_COURSE / "course.toml").write_bytes(data)
    try:
        rules = read_rules(_COURSE)
    except BadRule:
        return
    for one in rules.assignments.values():
        for span in (one.grace, *(step.until for step in one.late)):
            assert describe_credit(span.length).en
            assert one.due is None or span.after(one.due, rules.zone).astimezone(rules.zone)
    for said in ("", *_EXTENSIONS):
        student = Student("ann", extensions=said)
        try:
            written = written_rules(_COURSE, Roster([student]))
        except BadRule:
            continue
        for time in (datetime(2026, 9, 20), datetime(1970, 1, 1), datetime(2100, 1, 1)):
            came = {name: hand_in(time, "ann", name, written) for name in rules.assignments}
            for name, credit in credits(rules, came).items():
                assert 0 <= credit.percent <= 100
                assert credit.late >= timedelta(0)
                told = written.feedback_time("ann", name)
                assert told is None or told.astimezone(UTC)


def mutate(data: bytes, chance: Random) -> bytes:
    """Return a file with other values, lines or keys."""
    if chance.random() < 0.1:
        return change_bytes(data, chance)
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(lines))
        key, equals, value = lines[at].partition("=")
        match chance.randrange(6):
            case 0 | 1 if equals:
                lines[at] = f"{key}= {chance.choice(_VALUES)}"
            case 2 if equals:
                lines[at] = f"{key}={change_text(value, chance, _VALUES)}"
            case 3:
                lines.insert(at, f"{chance.choice([*EXAMPLES])} = {chance.choice(_VALUES)}")
            case 4:
                lines.insert(at, chance.choice([*_LINES, *EXAMPLES.values()]))
            case _:
                lines[at] = change_text(lines[at], chance, _VALUES)
    return "\n".join(lines).encode()
