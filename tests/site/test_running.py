"""Outputs of cells as pages show them, and results that are kept."""

from __future__ import annotations

from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook

from autograder.site.running.cells import executed
from autograder.site.running.kept_results import KeptResults

PRINTS = """
for number in range(3):
    print(number, flush=True)
    sys.stdout._flush()  # the kernel sends what was printed before
display("a picture")
print("after it")
"""


def test_what_a_cell_prints_is_one_output_up_to_a_picture(tmp_path: Path) -> None:
    notebook = new_notebook(cells=[new_code_cell("import sys"), new_code_cell(PRINTS, id="prints")])
    outputs = executed(notebook, tmp_path / "files", tmp_path)["prints"]["ru"]
    assert [each.get("text") for each in outputs] == ["0\n1\n2\n", None, "after it\n"]


def test_a_picture_of_matplotlib_is_shown(tmp_path: Path) -> None:
    cell = new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", id="plot")
    (shown,) = executed(new_notebook(cells=[cell]), tmp_path / "files", tmp_path)["plot"]["en"]
    assert "image/png" in shown["data"]


def test_only_what_is_not_kept_is_run(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def double(*texts: str) -> list[str]:
        def run(numbers: list[int]) -> list[str]:
            asked.append([texts[number] for number in numbers])
            return [2 * text for text in asked[-1]]

        return list(KeptResults(tmp_path / "new", ()).of(texts, run))

    assert double("a", "b") == double("a", "b") == ["aa", "bb"]
    assert double("b", "c") == ["bb", "cc"]
    assert asked == [["a", "b"], ["c"]]
