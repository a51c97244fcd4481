"""Free answers that were pasted, deleted or written beside their cell: a person can always give points for them."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode

from autograder.cli import main
from autograder.lessons.collection import COURSE
from support.course import Course
from support.solved import grade_id, solved_notebook
from support.submissions import read

(LESSON,) = COURSE.read(["gradient_accumulation"])
WRITTEN = "written-why_they_agree"
TEXT = "The mean of equal means is the mean."
Change = Callable[[NotebookNode], None]


def reported(name: str) -> Change:
    """Return what a public report did to a notebook."""
    case = importlib.import_module(f"support.public_reports.{name}")

    def change(notebook: NotebookNode) -> None:
        made: Any = nbformat.from_dict(json.loads(case.change(json.loads(json.dumps(notebook)))))
        notebook.cells = made.cells

    return change


def _at(notebook: NotebookNode) -> int:
    return next(number for number, cell in enumerate(notebook.cells) if grade_id(cell) == WRITTEN)


def deleted(notebook: NotebookNode) -> None:
    del notebook.cells[_at(notebook)]


def deleted_with_its_question(notebook: NotebookNode) -> None:
    at = _at(notebook)
    del notebook.cells[at - 1 : at + 1]


def above(notebook: NotebookNode) -> None:
    notebook.cells.insert(_at(notebook), nbformat.v4.new_markdown_cell(TEXT))


def below_in_two_cells_after_code(notebook: NotebookNode) -> None:
    cells = [nbformat.v4.new_code_cell("1 + 1"), *map(nbformat.v4.new_markdown_cell, ("First,", TEXT))]
    notebook.cells[_at(notebook) + 1 : _at(notebook) + 1] = cells


def deleted_and_answered(notebook: NotebookNode) -> None:
    notebook.cells[_at(notebook)] = nbformat.v4.new_raw_cell(TEXT)


def elsewhere(notebook: NotebookNode) -> None:
    """A remark at another place is no answer, nor is a question of which a few words have changed since."""
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("I have read this."))
    below = notebook.cells[_at(notebook) + 1]
    below.source = below.source.replace("One more thing", "Another thing")


# What was done, and whether a person is asked to read something.
CHANGES: dict[str, tuple[Change, bool]] = {
    "pasted": (reported("a_written_answer_pasted"), True),
    "below": (reported("a_written_answer_below_placeholder"), True),
    "above": (above, True),
    "two": (below_in_two_cells_after_code, True),
    "raw": (deleted_and_answered, True),
    "deleted": (deleted, False),
    "both-gone": (deleted_with_its_question, False),
    "elsewhere": (elsewhere, False),
    "blank": (lambda notebook: None, False),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = Course.make(tmp_path_factory.mktemp("written") / "course", LESSON)
    for student, (change, _) in CHANGES.items():
        language = "ru" if student == "deleted" else "en"
        notebook = solved_notebook(LESSON, language)
        change(notebook)
        made.hand_in(student, json.dumps(notebook))
    made.grade()
    return made


def _cell(course: Course, student: str) -> NotebookNode:
    (cell,) = (cell for cell in read(course.autograded(student)).cells if grade_id(cell) == WRITTEN)
    return cell


@pytest.mark.parametrize("student", CHANGES)
def test_formgrader_has_a_box_and_only_a_text_waits(course: Course, student: str) -> None:
    cell, waits = _cell(course, student), CHANGES[student][1]
    assert (cell.source == TEXT) is waits
    assert course.by_hand(student, WRITTEN)[1] is waits
    reasons = course.grade()[student]["reasons"]
    assert reasons == ([f"deleted and put back: {WRITTEN}"] if student in ("deleted", "both-gone") else [])


def test_a_cell_is_put_back_behind_its_question(course: Course) -> None:
    cells = read(course.autograded("deleted")).cells
    at = next(number for number, cell in enumerate(cells) if grade_id(cell) == WRITTEN)
    released = [cell.source for cell in read(course.released("ru")).cells]
    assert released[released.index(cells[at - 1].source) + 1] == cells[at].source


def test_points_by_hand_are_returned(course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = course.copy(tmp_path)
    assert main(["return", str(course.folder), course.name]) == 1
    said = capsys.readouterr().out
    for student, (_, waits) in CHANGES.items():
        assert (f"  {student}: no grade: some answers wait for points" in said) is waits
    assert main(["return", str(course.folder)]) == 1
    assert {row["id"] for row in _total(course) if not row["total"]} == {name for name in CHANGES if CHANGES[name][1]}
    assert {row["waits for points by hand"] for row in _total(course)} == {"", course.name}
    for student in CHANGES:
        if CHANGES[student][1]:
            course.give_by_hand(student, WRITTEN, 2)
    assert main(["return", str(course.folder)]) == 0
    assert all(row["total"] and not row["waits for points by hand"] for row in _total(course))


def _total(course: Course) -> list[dict[str, str]]:
    with (course.folder / "returned" / "total.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.nightly(
    twin="tests/grading/submission/test_written_answers.py::test_formgrader_has_a_box_and_only_a_text_waits"
)
def test_nbgrader_autograde_finds_the_same(course: Course, tmp_path: Path) -> None:
    stock = course.copy(tmp_path)
    stock.nbgrader("autograde", course.name, "--force")
    for student in CHANGES:
        assert _cell(stock, student).source == _cell(course, student).source
        assert stock.by_hand(student, WRITTEN)[1] is CHANGES[student][1]
