"""CSV files in which only some cells change."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.errors import UserError
from autograder.grading.tables.csv_text import CsvText, from_text, read_csv, write_csv

CELLS = st.text(",;\"\n ёa'", max_size=8)
TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2, max_size=6)
)

on_any_machine = settings(suppress_health_check=[HealthCheck.too_slow])  # a busy one is no failure


def written(rows: list[list[str]], separator: str, end: str) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
    return file.getvalue()


def read(text: str, folder: Path, encoding: str = "utf-8") -> CsvText:
    path = folder / "a.csv"
    path.write_bytes(text.encode(encoding))
    return read_csv(path)


@on_any_machine
@given(
    rows=TABLES,
    separator=st.sampled_from(",;"),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_bytes_stay_and_cells_are_those_of_pythons_reader(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str, end: str, encoding: str
) -> None:
    rows = [["head"] * len(rows[0]), *rows]
    folder = tmp_path_factory.mktemp("csv", numbered=True)
    text = read(written(rows, separator, end), folder, encoding)
    assert text.to_bytes() == (folder / "a.csv").read_bytes()
    if len(rows[0]) > 1:
        assert [[text.cell(row, at) for at in range(len(rows[0]))] for row in range(len(rows))] == rows


@on_any_machine
@given(rows=TABLES, new=CELLS, data=st.data())
def test_replacing_a_cell_changes_no_other(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], new: str, data: st.DataObject
) -> None:
    rows = [["a", "b", *["head"] * len(rows[0])], *(["a", "b", *row] for row in rows)]
    text = read(written(rows, ",", "\r\n"), tmp_path_factory.mktemp("csv", numbered=True))
    row, at = data.draw(st.integers(1, len(rows) - 1)), data.draw(st.integers(0, len(rows[0]) - 1))
    text.replace(row, at, new)
    rows[row][at] = new
    assert list(csv.reader(io.StringIO(text.to_bytes().decode(), newline=""))) == rows


def test_a_cell_keeps_its_quotes_and_an_equal_one_its_form(tmp_path: Path) -> None:
    text = read('id,"grade"\r\n1,"3,5"\r\n', tmp_path)
    text.replace(1, 1, "3,5")
    assert text.to_bytes() == b'id,"grade"\r\n1,"3,5"\r\n'
    text.replace(1, 1, "4")
    assert text.to_bytes() == b'id,"grade"\r\n1,"4"\r\n'


def test_text_from_a_russian_excel_is_read_and_written_in_its_encoding(tmp_path: Path) -> None:
    text = read("Имя;Оценка\r\nЁлкина;4,5\r\n", tmp_path, "cp1251")
    assert (text.separator, text.cell(1, 0)) == (";", "Ёлкина")
    text.replace(1, 1, "5")
    assert text.to_bytes() == "Имя;Оценка\r\nЁлкина;5\r\n".encode("cp1251")


@pytest.mark.parametrize("broken", ['a,b\n1,"x\n', 'a,b\n1,"x"y,z\n', "a\n\n\nb", '"', "a,b"])
def test_broken_quotes_cost_no_byte(broken: str, tmp_path: Path) -> None:
    assert read(broken, tmp_path).to_bytes() == broken.encode()


def test_a_picture_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xff\xfe\x00\xd8\x00")
    with pytest.raises(UserError, match="save it as CSV in UTF-8"):
        read_csv(path)


@pytest.mark.parametrize(
    "text", ["=1+1", "+7 912", "-x", "@SUM(A1)", " =1", "＝1", "'=1", "'", "-1.5", "+3", "x=1", ""]
)
def test_no_cell_of_ours_is_a_formula_and_none_is_changed(text: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", [[text]])
    cell = read_csv(tmp_path / "a.csv").cell(0, 0)
    assert cell == text or (cell[0] == "'" and text.strip("' ")[0] in "=+-@＝")
    assert from_text(cell) == text
