"""Released cells, run: their outputs in both languages."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell

from ...lessons.source import CHECK
from .forked_kernel import ForkedKernel
from .kept_results import KeptResults

# A dict from cell id to outputs in nbformat's form, by language.
Outputs = dict[str, dict[str, list[dict[str, Any]]]]

# What is about the learner who runs it.
_PERSONAL = re.compile(r"^(?:progress|ready|contents|placement|recall|review)\(", re.M)
_SECONDS = 120  # for one cell
# The same picture in Russian, from the object that the cell has shown.
_IN_RUSSIAN = """\
from dataclasses import replace as _replace
from IPython.display import display as _display
_display(_replace(Out[{number}], language="ru"))
"""
_RUN_BY = ("site/running/cells.py", "site/running/forked_kernel.py")


def is_run(cell: NotebookNode) -> bool:
    """Return whether a cell of a notebook is run for its output: no check, and nothing about a learner."""
    return cell.cell_type == "code" and not CHECK.search(cell.source) and not _PERSONAL.search(cell.source)


def executed(notebook: NotebookNode, files: Path, cache: Path) -> Outputs:
    """Return the outputs of an English notebook's cells.

    Only runs it if `cache` has no outputs of the same cells. `files` is the folder of the lesson's data files, which
    may not exist. An answer's stub runs as it is, so a cell that needs the answer has an output of the type "error".
    """
    cells = [f"{cell.id}\n{cell.source}\n" for cell in notebook.cells if is_run(cell)]
    if not cells:
        return {}
    (found,) = KeptResults(cache, _RUN_BY).of(["".join(cells)], lambda numbers: [_run(notebook, files)])
    outputs: Outputs = found
    return outputs


def _run(notebook: NotebookNode, files: Path) -> Outputs:
    outputs: Outputs = {}
    notebook = copy.deepcopy(notebook)  # the client replaces cells
    with tempfile.TemporaryDirectory() as folder:
        if files.is_dir():
            shutil.copytree(files, folder, dirs_exist_ok=True)
        client = NotebookClient(
            notebook,
            timeout=_SECONDS,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],  # it warns that it can be listened to on this machine
        )
        manager = client.create_kernel_manager()
        manager.provisioner = ForkedKernel(kernel_spec=manager.kernel_spec, parent=manager)
        home = {**os.environ, "AUTOGRADER_HOME": str(Path(folder) / "home")}
        with client.setup_kernel(env=home):
            for index, cell in enumerate(notebook.cells):
                if is_run(cell):
                    outputs[cell.id] = _run_cell(client, cell, index)
    return outputs


def _run_cell(client: NotebookClient, cell: NotebookNode, index: int) -> dict[str, list[dict[str, Any]]]:
    """Run one cell and return its outputs in each language. Pictures are drawn once more in Russian."""
    english = _outputs(client, cell, index)
    russian = list(english)
    for place, output in enumerate(english):
        if output["output_type"] == "execute_result" and "text/html" in output["data"]:
            again = new_code_cell(_IN_RUSSIAN.format(number=output["execution_count"]))
            shown = [each for each in _outputs(client, again, index) if "data" in each]
            russian[place : place + 1] = shown or [output]
    return {"en": english, "ru": russian}


def _outputs(client: NotebookClient, cell: NotebookNode, index: int) -> list[dict[str, Any]]:
    """Run one cell and return its outputs. HTML needs no bitmap beside it."""
    with contextlib.suppress(CellExecutionError):  # the output says it
        client.execute_cell(cell, index, store_history=True)
    CoalesceStreamsPreprocessor().preprocess_cell(cell, {}, index)  # the kernel cuts a text by time
    found = [dict(output) for output in cell.outputs]
    for output in found:
        if "text/html" in output.get("data", {}):
            output["data"] = {"text/html": output["data"]["text/html"]}
    cell.outputs = []
    return found
