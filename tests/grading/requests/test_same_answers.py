"""What makes two hand-ins of a student the same, apart from a request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.grading.requests.same_answers import answers_in

Edit = Callable[[NotebookNode], None]
IGNORED = (".ipynb_checkpoints", "*.pyc")


def handed_in(words: bool) -> NotebookNode:
    """A notebook with code, and with or without a question that is answered in words."""
    made = new_notebook(
        cells=[
            new_markdown_cell("# A lesson"),
            new_code_cell("x = 1", metadata={"nbgrader": {"grade_id": "answer-x", "solution": True}}),
            new_code_cell("mine = 2"),
        ]
    )
    if words:
        told = {"nbgrader": {"grade_id": "written-why", "grade": True, "solution": True}}
        made.cells.append(new_markdown_cell("Because.", metadata=told))
    return made


def is_same(folder: Path, words: bool, edit: Edit, name: str = "a.ipynb", beside: tuple[str, ...] = ()) -> bool:
    """Return whether an edited notebook, with files `beside` it, has the same answers."""
    found = []
    for place, files in (("first", ()), ("second", beside)):
        made = handed_in(words)
        (folder / place).mkdir()
        if place == "second":
            edit(made)
        nbformat.write(made, folder / place / (name if place == "second" else "a.ipynb"))
        for path in files:
            (folder / place / path).parent.mkdir(exist_ok=True)
            (folder / place / path).write_text("1")
        there = {path.relative_to(folder / place).as_posix(): path for path in (folder / place).rglob("*.*")}
        found.append(answers_in({name: path for name, path in there.items() if path.is_file()}, IGNORED))
    return found[0] == found[1]


def append(cell: NotebookNode) -> Edit:
    return lambda made: made.cells.append(cell)


def change(position: int, source: str) -> Edit:
    return lambda made: made.cells[position].update(source=source)


def runs_again(made: NotebookNode) -> None:
    made.cells[1].execution_count = 9
    made.cells[1].outputs = [new_output("stream", text="x")]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(
    "edit", [runs_again, append(new_markdown_cell("Regrade: why?")), append(new_code_cell("\n")), change(1, "x = 1\n")]
)
def test_no_answer_has_changed(tmp_path: Path, words: bool, edit: Edit) -> None:
    beside = ("regrade.txt", "timestamp.txt", ".ipynb_checkpoints/b.ipynb")
    assert is_same(tmp_path, words, edit, "a (1).ipynb", beside)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(
    "edit",
    [
        change(1, "x = 2"),
        change(2, "mine = 3"),
        append(new_code_cell("# Regrade: why?\nx = 2")),
        lambda made: made.cells.reverse(),
        lambda made: made.cells.pop(),
        lambda made: made.cells[1].update(cell_type="raw"),
        lambda made: made.cells[1].metadata.nbgrader.update(grade_id="answer-y"),
        lambda made: made.metadata.update(autograder={"student": "bo"}),
    ],
)
def test_an_answer_has_changed(tmp_path: Path, words: bool, edit: Edit) -> None:
    assert not is_same(tmp_path, words, edit)


@pytest.mark.parametrize("source", ["Regrade: Since", "Because.\n\nRegrade: and since"])
def test_a_request_in_an_answer_changes_the_answer(tmp_path: Path, source: str) -> None:
    assert not is_same(tmp_path, True, change(3, source))


@pytest.mark.parametrize("words", [False, True])
def test_a_text_of_ones_own_counts_where_an_answer_may_be_in_words(tmp_path: Path, words: bool) -> None:
    assert is_same(tmp_path, words, append(new_markdown_cell("Since."))) is not words


@pytest.mark.parametrize("path", ["helper.py", "data.csv", "b.ipynb"])
def test_another_file_may_hold_an_answer(tmp_path: Path, path: str) -> None:
    assert not is_same(tmp_path, False, runs_again, beside=(path,))
