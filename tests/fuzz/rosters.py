"""Fuzzing of the list of students, and of the search in it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from autograder.errors import UserError
from autograder.grading.rules.course_file import parse_rules
from autograder.grading.rules.late_credit import read_extensions
from autograder.grading.rules.toml_table import BadRule
from autograder.grading.tables.roster import (
    COLUMNS,
    STUDENTS_FILE,
    Roster,
    Student,
    Unplaced,
    add_students,
    read_roster,
)  # fmt: skip
from fuzz.mutations import change_bytes, change_table
from grading.rules.test_course_file import WHOLE

_LINES = (
    "ann,Ann Lee,ann@uni.example,101;annlee,Team 7,03_gradient_accumulation +2d",
    'bob,"Brown, Bob",bob@uni.example,102,Team 7,',
    "dina,Дина Ким,dina@uni.example,Kim;дина,,05_jacobian_products 2026-10-01 23:59; 03_gradient_accumulation +1h",
)
_TOKENS = (
    "ann", "ANN", "Ann Lee", "Lee", "101", "a b c d e", "a b c d e;f g h i j", "1 2 3 4 5 6 7", "..", ".a", "a/b",
    "'=1", "=1", "''", "", "İ", "ß", "SS", "ё", "é", "Team 7", "@", "ann@other.example", ";;", "id", "name",
    "03_gradient_accumulation +999999999d", "03_gradient_accumulation +99999999999999d",
    "03_gradient_accumulation 9999-12-31T23:59-23:59", "03_gradient_accumulation 2026-W40",
    "03_gradient_accumulation 0001-01-01", "🎓", "\u0301", "a_b", "x" * 300, "None", '"', '"a\nb"', "\xa0", "\x85",
)  # fmt: skip
_PATHS = ("Ann Lee/x.ipynb", "ann_101.ipynb", "a/b.c/Kim-Дина.zip", "Team 7-Ann Lee", "x")
_FOLDER = tempfile.TemporaryDirectory()
_COURSE = Path(_FOLDER.name)
_RULES = parse_rules(WHOLE, "course.toml")


def seeds() -> Iterator[bytes]:
    """Yield lists of a few students, in several encodings."""
    text = "\n".join([",".join(COLUMNS), *_LINES, ""])
    yield from (text.encode(encoding) for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1251"))
    yield text.replace(",", ";").replace("\n", "\r\n").encode()


def read(data: bytes) -> None:
    """Read a `students.csv`, look for each student in it, read the extensions, and add a student."""
    path = _COURSE / STUDENTS_FILE
    path.write_bytes(data)
    try:
        roster = read_roster(_COURSE)
    except UserError:
        return
    for student in roster.students[:10]:
        assert str(student)
        with contextlib.suppress(BadRule):
            read_extensions(student.extensions, _RULES, "students.csv")
        _look_for(roster, student)
    for place in _PATHS:
        _look_for(roster, Student("", place))
    if "new" not in {student.id for student in roster.students}:
        new = Student("new", "=Ünal Ёлкин", "new@uni.example", ("1", "2"), "Team 7")
        add_students(_COURSE, [new])
        *before, added = read_roster(_COURSE).students
        assert before == roster.students
        assert added.id == "new"
        assert added.name in (new.name, "")  # there may be no column for names


def _look_for(roster: Roster, student: Student) -> None:
    """Look for a student by all that is known of them."""
    for find in (
        lambda: roster.find([student.id, *student.lms], student.name),
        lambda: roster.find([student.email], roster.without_group(student.name)),
        lambda: roster.find([], student.name),
        lambda: roster.find_in_path(f"{student.name}/{student.id}_x.ipynb"),
    ):
        with contextlib.suppress(Unplaced):
            assert find() in roster.students
    roster.group(student.group)


def mutate(data: bytes, chance: Random) -> bytes:
    """Return a list with other cells, lines or bytes."""
    return change_bytes(data, chance) if chance.random() < 0.1 else change_table(data, chance, _TOKENS)
