"""Scores: points that a graded cell shows, and limits of its outputs."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.utils import determine_grade

from autograder.checking.verdict import MIME
from autograder.grading.submission.limited_outputs import LimitOutput
from autograder.grading.submission.scores import is_check, verdict_first


def graded(*outputs: NotebookNode, source: str = 'check("x")', points: float = 3) -> NotebookNode:
    about = {"grade_id": "check-x", "grade": True, "solution": False, "locked": True, "points": points}
    return new_code_cell(source, metadata={"nbgrader": about}, outputs=list(outputs))


def verdict(shown: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": shown, MIME: {}})


STDERR = new_output("stream", name="stderr", text="careful")


ERROR = new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[])


@pytest.mark.parametrize(
    ("outputs", "score"),
    [
        ([verdict("2")], 2),
        ([verdict("3")], 3),
        ([verdict("0")], 0),
        ([STDERR, verdict("2")], 2),
        ([new_output("stream", text="said"), verdict("2"), STDERR], 2),
        ([], 0),
        ([STDERR], 0),
        ([ERROR], 0),
        ([new_output("stream", text="3")], 0),
        ([new_output("execute_result", data={"text/plain": "3"})], 0),
        ([new_output("display_data", data={"text/plain": "3", MIME: {}})], 0),
        ([verdict("nan")], 0),
        ([verdict("-1")], 0),
        ([verdict("99")], 0),
        ([verdict("inf")], 0),
        ([verdict("three")], 0),
        ([verdict("3"), verdict("3")], 0),
    ],
)
def test_points_come_from_one_verdict_or_not_at_all(outputs: list[NotebookNode], score: float) -> None:
    cell = graded(*outputs)
    assert is_check(cell)
    cell.outputs = verdict_first(cell)
    assert determine_grade(cell) == (score, 3)
    nbformat.validate(new_notebook(cells=[cell]))


@pytest.mark.parametrize("source", ["assert True", 'check("x")\nprint()', "# check", "recheck(1)"])
def test_cells_of_another_kind_keep_nbgraders_rules(source: str) -> None:
    assert not is_check(graded(source=source))


def test_the_check_with_its_import_is_one() -> None:
    assert is_check(graded(source='from autograder import check\n\ncheck("x")'))


def test_long_outputs_are_cut() -> None:
    long = "x" * 10_000_000
    cell = graded(
        new_output("stream", text=long),
        new_output("execute_result", data={"text/plain": long}),
        new_output("display_data", data={"image/png": "abc"}),
        new_output("error", ename="ValueError", evalue=long, traceback=[long]),
    )
    cell, _ = LimitOutput().preprocess_cell(cell, {}, 0)
    assert len(str(cell)) < 100_000
    assert "Output truncated" in cell.outputs[0].text
