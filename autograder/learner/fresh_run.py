"""Run a notebook from top to bottom in a process of its own: `python -m autograder.learner.fresh_run FILE SECONDS`.

Writes what came of it to stdout as JSON: the notebook with its outputs, and whether its process lived to the end.
A program by itself, so that a live kernel is not disturbed by it and can stop it.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError


def run(file: Path, seconds: int) -> str:
    """Run `file`; a cell that takes longer than `seconds` is interrupted and the run goes on. Returns the JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook of an older format is as good
        notebook = nbformat.reads(file.read_text(encoding="utf-8"), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        kernel_name="python3",  # of this Python, whatever the notebook names
        timeout=seconds,
        interrupt_on_timeout=True,
        allow_errors=True,
        resources={"metadata": {"path": str(file.parent)}},
    )
    ended_early = False
    try:
        client.execute(env={**os.environ, "NBGRADER_EXECUTION": "autograde"})
    except DeadKernelError:
        ended_early = True
    return json.dumps({"notebook": notebook, "ended_early": ended_early})


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), int(sys.argv[2])))
