"""Explanations of torch errors under the traceback, in a live kernel."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "The first backward() freed"), ("ru", "Первый backward() освободил")]
)
def test_an_explanation_stands_under_the_traceback(language, sentence):
    cells = [
        f'from autograder import start\nstart("gradient_accumulation", language="{language}")\n'
        f'start("gradient_accumulation", language="{language}")',
        "import torch\ny = torch.rand(2, requires_grad=True).exp().sum()\ny.backward()\ny.backward()",
        "raise ValueError('something else')",
        "float('one')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True, timeout=120).execute()
    error, explanation = notebook.cells[1].outputs
    assert error.output_type == "error"
    assert "y.backward()" in "".join(error.traceback)
    assert sentence in explanation.data["text/plain"].replace("`", "")
    assert "<code>backward()</code>" in explanation.data["text/html"]
    for cell in notebook.cells[2:]:
        assert [output.output_type for output in cell.outputs] == ["error"]


def test_outside_ipython_nothing_happens():
    script = """
import sys
from autograder.learner.tracebacks import explain_torch_errors
hook = sys.excepthook
explain_torch_errors()
assert sys.excepthook is hook
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stderr == b""
