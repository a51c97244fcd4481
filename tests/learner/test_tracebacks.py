"""Explanations of torch's errors and warnings below their text, in a live kernel."""

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("language", "sentence", "warned", "cause"),
    [
        ("en", "The first backward() freed", "stores gradients in leaves only", "Its result changes in jumps"),
        (
            "ru",
            "Первый backward() освободил",
            "записывает градиенты только в листовые тензоры",
            "Её результат меняется скачками",
        ),
    ],
)
def test_an_explanation_stands_below_an_error_and_a_warning(language, sentence, warned, cause):
    cells = [
        f'from autograder import start\nstart("gradient_accumulation", language="{language}")\n'
        f'start("gradient_accumulation", language="{language}")',
        "import torch\ny = torch.rand(2, requires_grad=True).exp().sum()\ny.backward()\ny.backward()",
        "raise ValueError('something else')",
        "float('one')",
        "assert (2 * torch.ones(1, requires_grad=True)).grad is None",
        "import warnings\nwarnings.warn('something else')",
        "scores = torch.ones(3, requires_grad=True)\nloss = (scores.argmax() == 1).float()",
        "loss.backward()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True, timeout=120).execute()
    error, explanation = notebook.cells[1].outputs
    assert error.output_type == "error"
    assert "y.backward()" in "".join(error.traceback)
    assert sentence in explanation.data["text/plain"].replace("`", "")
    assert "<code>backward()</code>" in explanation.data["text/html"]
    warning, explanation = notebook.cells[4].outputs
    assert "not a leaf Tensor is being accessed" in warning.text
    assert warned in explanation.data["text/plain"].replace("`", "")
    assert [output.output_type for output in notebook.cells[5].outputs] == ["stream"]
    _, explanation = notebook.cells[7].outputs  # the cause is in the cell before
    assert cause in explanation.data["text/plain"]
    for cell in notebook.cells[2:4]:
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
