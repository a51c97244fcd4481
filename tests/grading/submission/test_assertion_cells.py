"""An instructor's own graded cells, which test by raising."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.grading.gradebook.scores import Score
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.submission.notebook_run import run_notebook
from autograder.grading.submission.scores import score_of

OURS = {"grade_id": "test", "grade": True, "locked": True, "solution": False, "points": 5, "schema_version": 3}
TEST = "assert answer() == 42"
FLOOD = "for _ in range({0}):\n    display({1})"


@pytest.fixture(scope="module")
def engine():
    with Engine(Limits(cell_seconds=5)) as started:
        yield started


def score(engine, *before, test=TEST):
    cells = [*map(new_code_cell, before), new_code_cell(test, metadata={"nbgrader": OURS, "task": False})]
    notebook = new_notebook(cells=cells)
    run_notebook(engine, notebook, None, {})
    return score_of(notebook.cells[-1])


def test_the_tests_decide(engine):
    assert score(engine, "def answer(): return 42") == Score(5, False)
    assert score(engine, "def answer(): return 41") == Score(0, False)
    assert score(engine, "def answer(): return 42", test=f"{TEST}\n2.5") == Score(2.5, False)


@pytest.mark.parametrize("graded", [True, False])
def test_replaced_functions_of_torch_are_named_beside_them(engine, graded):
    """Only a check puts them back."""
    cells = [new_code_cell("import torch\ntorch.equal = lambda *_: True")]
    if graded:
        cells.append(new_code_cell("assert torch.equal(1, 2)", metadata={"nbgrader": OURS, "task": False}))
    outcome = run_notebook(engine, new_notebook(cells=cells), None, {})
    assert [flag.parameters["what"] for flag in outcome.flags] == ["torch.equal"] * graded


@pytest.mark.parametrize(
    "before",
    [
        ["import os; os._exit(0)"],
        ["def answer():\n    import os; os._exit(0)"],
        ["def answer():\n    print('x' * 2_000_000); return 41"],
        [f"def answer():\n    {FLOOD.format(300, 1)}\n    return 41".replace("\n    display", "\n        display")],
        *[[f"display('y' * 900_000)\n{n}" for n in range(40)] + ["def answer(): return 41"]],
    ],
    ids=["the process ends before", "the process ends in it", "a flood of text", "many outputs", "a full notebook"],
)
def test_silence_is_no_success(engine, before):
    assert score(engine, *before).points == 0


def test_points_that_were_drowned_are_not_all_points(engine):
    flood = "def answer():\n    print('x' * 2_000_000); return 42"
    assert score(engine, flood, test=f"{TEST}\n0.5").points == 0
