"""Moodle's worksheet under any names, separators, encodings and line ends: only two cells of a line change."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.grading.lms.interface.grade_table import GradeTable, ReturnedGrade
from autograder.grading.lms.interface.origin import Sender
from autograder.grading.lms.interface.table_cells import Ledger
from autograder.grading.lms.systems import read_grade_table
from autograder.grading.tables.roster import Roster, Student
from support.lms import WORKSHEET_EN, WORKSHEET_RU

GRADE, MAXIMUM, COMMENT = 5, 6, 9  # columns
NAMES = st.text("Ёёабйщ AbО’'`\"-,;.№éß🎓\n\u0306", max_size=12)
LINES = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=5)
ENCODINGS = {"utf-8-sig": "strict", "utf-8": "strict", "utf-16": "strict", "cp1251": "replace"}

anything = settings(max_examples=150, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])


def fill(sheet: GradeTable, number: str, points: float, comment: str) -> None:
    """Give a grade out of 100 points to a participant."""
    grade = ReturnedGrade(Student(f"s{number}"), points, 100, comment, Sender("Moodle", number))
    sheet.fill_in("x", {f"s{number}": grade}, Roster([]), Ledger({}, overwrites=False))


def written(rows: list[list[str]], separator: str, end: str, quoting: int) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return file.getvalue()


@anything
@given(
    lines=LINES,
    russian=st.booleans(),
    separator=st.sampled_from(",;\t"),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(sorted(ENCODINGS)),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    comma=st.booleans(),
    data=st.data(),
)
def test_nothing_differs_but_two_cells(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[str, str, str]],
    russian: bool,
    separator: str,
    end: str,
    encoding: str,
    quoting: int,
    comma: bool,
    data: st.DataObject,
) -> None:
    maximum = "100,00" if comma else "100.00"
    rows = [
        [f"Участник{at}", name, number, "", status, "", maximum, "-", "-", ""]
        for at, (name, number, status) in enumerate(lines, 1)
    ]
    head = WORKSHEET_RU if russian else WORKSHEET_EN
    errors = ENCODINGS[encoding]
    before = written([head, *rows], separator, end, quoting).encode(encoding, errors)
    path = tmp_path_factory.mktemp("sheet", numbered=True) / "w.csv"
    path.write_bytes(before)
    sheet = read_grade_table(path)
    assert sheet.to_bytes() == before
    assert [each.number for each in sheet.participants] == [str(at) for at in range(1, len(rows) + 1)]

    chosen = data.draw(st.sets(st.sampled_from(range(len(rows)))))
    for at in chosen:
        points = data.draw(st.integers(0, 10_000)) / 100
        comment = data.draw(st.text('a1 /,;"', min_size=1, max_size=6))
        fill(sheet, str(at + 1), points, comment)
        rows[at][GRADE] = f"{points:.2f}".replace(".", ",") if comma else f"{points:.2f}"
        rows[at][COMMENT] = comment
    assert sheet.to_bytes().startswith(before[:3])
    decoded = sheet.to_bytes().decode(encoding)
    found = list(csv.reader(io.StringIO(decoded, newline=""), delimiter=separator))
    clean = [[cell.encode(encoding, errors).decode(encoding) for cell in row] for row in [head, *rows]]
    assert found == clean
    untouched = written([clean[0]], separator, end, quoting)
    assert decoded.startswith(untouched)
    for at, row in enumerate(clean[1:]):
        if at not in chosen:
            assert written([row], separator, end, quoting) in decoded


@anything
@given(points=st.integers(0, 10_000), comma=st.booleans())
def test_an_equal_grade_stays_as_it_is_written(
    tmp_path_factory: pytest.TempPathFactory, points: int, comma: bool
) -> None:
    text = f"{points / 100}"
    row = ["Participant 1", "A", "", "", "", text.replace(".", ",") if comma else text, "100", "-", "-", "x"]
    path = tmp_path_factory.mktemp("sheet", numbered=True) / "w.csv"
    path.write_text(written([WORKSHEET_EN, row], ",", "\n", csv.QUOTE_MINIMAL), encoding="utf-8")
    sheet = read_grade_table(path)
    fill(sheet, "1", points / 100, "x")
    assert sheet.to_bytes() == path.read_bytes()
