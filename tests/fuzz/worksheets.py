"""Fuzzing of Moodle's grading worksheets: read, filled in, made into new students."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from random import Random

from autograder.errors import UserError
from autograder.grading.collecting.newcomers import from_tables
from autograder.grading.lms.interface.grade_table import ReturnedGrade
from autograder.grading.lms.interface.origin import Sender
from autograder.grading.lms.interface.table_cells import Ledger
from autograder.grading.lms.systems import read_grade_table
from autograder.grading.tables.csv_text import CsvText, read_csv
from autograder.grading.tables.roster import STUDENTS_FILE, Roster, Student, add_students, read_roster
from fuzz.mutations import ZONES, change_bytes, change_table

_HEADS = (
    "Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Last modified (submission),"
    "Feedback comments",
    "Идентификатор;Полное имя;Индивидуальный номер;Адрес электронной почты;Оценка;Максимальный балл;"
    "Последнее изменение (ответ);Отзыв",
)
_LINES = (
    'Participant 7,Ann Lee,a7,ann@uni.example,"Submitted, late",,100.00,"Monday, 23 November 2026, 6:05 PM",',
    "Участник7;Анна Ли;;anna@uni.example;3,5;100,00;понедельник, 23 ноября 2026, 18:05;<p>x</p>",
)
_TOKENS = (
    "Participant 8", "Participant ٣", "nan", "inf", "1e999", "-", "1_0", "3,5", "1,000.00", "=1+1", "'=x", "/", "..",
    ".x", "\\", "", "23.11.2026 18:05", "99/99/99 99:99 PM", "2026-11-23", "2026-W01-1T00:00:00.0+23:59",
    "1 мая 0000, 24:00", "١ may 2026, 1:00", "Group", "Grade", "Due date", "a@b", "@", "Ann Lee", '"', '""', '"x"y',
    "x" * 300, "ANN@uni.example", "\xa0",
)  # fmt: skip
_FOLDER = tempfile.TemporaryDirectory()
_COURSE = Path(_FOLDER.name)


def seeds() -> Iterator[bytes]:
    """Yield worksheets in both languages and several encodings."""
    for head, line, encoding in zip(_HEADS, _LINES, ("utf-8-sig", "cp1251")):
        yield f"{head}\r\n{line}\r\n".encode(encoding)
        yield f"{head}\n{line}\n{line.replace('7', '8')}\n".encode("utf-16")


def read(data: bytes) -> None:
    """Read a worksheet, give grades and comments, and make its participants students of an empty course."""
    path = _COURSE / "sheet.csv"
    path.write_bytes(data)
    try:
        text = read_csv(path)
        _keep_bytes(text, data)
        sheet = read_grade_table(path)
    except UserError:
        return
    grades = {}
    for participant in sheet.participants[:5]:
        assert str(participant)
        for time in filter(None, (participant.submitted, participant.extended)):  # as `autograder collect` does
            assert all(time.replace(tzinfo=zone).astimezone(UTC) for zone in ZONES)
        student = Student(f"s{participant.number}")
        sender = Sender(sheet.title, participant.number)
        grades[student.id] = ReturnedGrade(student, 2.5, 10, 'a "comment", \n', sender)
    with contextlib.suppress(UserError):  # no column for the assignment
        sheet.fill_in("x", grades, Roster([]), Ledger({}, overwrites=True))
    path.write_bytes(sheet.to_bytes())
    again = read_grade_table(path)
    assert [each.number for each in again.participants] == [each.number for each in sheet.participants]
    _add(from_tables([again], Roster([])))


def _keep_bytes(text: CsvText, data: bytes) -> None:
    """Check that a file that is read and written stays the same."""
    assert text.to_bytes() == data


def _add(students: list[Student]) -> None:
    """Check that a course can read the list of students to which it has added some."""
    (_COURSE / STUDENTS_FILE).unlink(missing_ok=True)
    if students:
        add_students(_COURSE, students[:1])
        add_students(_COURSE, students[1:])
        assert [each.id for each in read_roster(_COURSE).students] == [each.id for each in students]


def mutate(data: bytes, chance: Random) -> bytes:
    """Return a worksheet with other cells, lines or bytes."""
    return change_bytes(data, chance) if chance.random() < 0.1 else change_table(data, chance, _TOKENS)
