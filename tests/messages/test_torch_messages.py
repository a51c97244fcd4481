"""Programs with the errors and warnings that learners meet, by rank, and the entry that must explain each.

The ranks are a judgement: the files in `programs/` hold what is met often, sometimes and rarely.
"""

from pathlib import Path

import pytest
import torch
from packaging.version import Version

from autograder.cells import read_cells
from support.torch_programs import told

PROGRAMS = Path(__file__).with_name("programs")
NAMES = (PROGRAMS / "names.py").read_text(encoding="utf-8")
RANKS = {
    rank: read_cells(PROGRAMS / f"{rank}.py", {"program", "entry", "silent"})
    for rank in ("often", "sometimes", "rarely")
}
CASES = {cell.metadata["program"]: cell for cells in RANKS.values() for cell in cells}


@pytest.mark.parametrize("name", CASES)
def test_what_a_learner_meets_is_explained(name):
    program, silent = CASES[name].source, CASES[name].metadata.get("silent")
    if silent and Version(torch.__version__) >= Version(silent):
        pytest.skip(f"torch {torch.__version__} raises nothing here")
    assert told(program, NAMES)[-1].by == CASES[name].metadata["entry"]


def test_what_is_met_often_is_explained_and_nine_tenths_of_the_rest():
    left = {rank: [cell for cell in cells if not cell.metadata["entry"]] for rank, cells in RANKS.items()}
    assert {rank: len(cells) for rank, cells in RANKS.items()} == {"often": 54, "sometimes": 168, "rarely": 135}
    assert (len(left["often"]), len(left["sometimes"]), len(left["rarely"])) == (0, 0, 1)
