"""Outputs of cells as pages show them."""

from __future__ import annotations

from pathlib import Path

from nbformat.v4 import new_code_cell, new_notebook

from autograder.site.running.cells import executed

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
