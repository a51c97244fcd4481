"""Programs with the errors and warnings that learners meet, by rank, and the entry that must explain each.

The ranks are a judgement: the files in `programs/` hold what is met often, sometimes and rarely, and is not within a
line of the entry's own program, which `test_torch_errors.py` runs. In `varied.py` the causes lie farther from the
error, or have nothing to do with gradients. In `reported.py` are whole programs that people reported.
"""

from pathlib import Path

import pytest
import torch
from packaging.version import Version

from autograder.cells import read_cells
from autograder.explained.silent_mistakes import silent_mistakes
from autograder.language import LANGUAGES
from autograder.messages.learners import message
from support.torch_programs import run_cell, told

PROGRAMS = Path(__file__).with_name("programs")
NAMES = (PROGRAMS / "names.py").read_text(encoding="utf-8")
KEYS = {"program", "entry", "silent", "since"}  # the program raises something from version `since` to `silent`
RANKS = {rank: read_cells(PROGRAMS / f"{rank}.py", KEYS) for rank in ("often", "sometimes", "rarely")}
VARIED = {cell.metadata["program"]: cell for cell in read_cells(PROGRAMS / "varied.py", KEYS)}
CASES = {cell.metadata["program"]: cell for cells in RANKS.values() for cell in cells}
REPORTED = {cell.metadata["program"]: cell for cell in read_cells(PROGRAMS / "reported.py", KEYS)}
SILENT = REPORTED.pop("parameter_taken_for_its_gradient")  # it raises and warns nothing


@pytest.mark.parametrize("name", CASES)
def test_what_a_learner_meets_is_explained(name):
    program, versions = CASES[name].source, CASES[name].metadata
    if not Version(versions.get("since", "2.0")) <= Version(torch.__version__) < Version(versions.get("silent", "3.0")):
        pytest.skip(f"torch {torch.__version__} raises nothing here")
    assert told(program, NAMES)[-1].by == CASES[name].metadata["entry"]


def test_what_is_met_often_is_explained_and_nine_tenths_of_the_rest():
    left = {rank: [cell for cell in cells if not cell.metadata["entry"]] for rank, cells in RANKS.items()}
    assert {rank: len(cells) for rank, cells in RANKS.items()} == {"often": 34, "sometimes": 88, "rarely": 78}
    assert (len(left["often"]), len(left["sometimes"]), len(left["rarely"])) == (0, 0, 1)


@pytest.mark.parametrize("name", VARIED)
def test_a_cause_is_found_farther_away_or_not_invented(name):
    assert told(VARIED[name].source)[-1].by == VARIED[name].metadata["entry"]


@pytest.mark.parametrize("name", REPORTED)
def test_what_was_reported_is_explained(name):
    assert told(REPORTED[name].source, "")[-1].by == REPORTED[name].metadata["entry"]


def test_a_reported_program_that_says_nothing_has_a_note():
    (note,) = silent_mistakes(run_cell(SILENT.source, "")["collect"])
    said = [message(note.id, **note.parameters).read(language) for language in LANGUAGES]
    assert all("p.grad" in each for each in said)
