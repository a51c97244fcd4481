"""Program that runs a whole notebook: `python -m autograder.learner.notebooks.fresh_run FILE FOLDER SECONDS`.

Prints JSON: the notebook with its outputs, and whether its kernel died. A separate program cannot disturb the learner's
kernel, and the learner can interrupt the program.
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


def run_fresh(file: Path, folder: Path, seconds: int) -> str:
    """Run the notebook `file` in `folder` and return JSON with the keys "notebook" and "ended_early".

    A cell that takes longer than `seconds` is interrupted, and the next cell is run. "ended_early" is true if the
    kernel died.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook in an older format runs just as well
        notebook = nbformat.reads(file.read_text(encoding="utf-8"), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        kernel_name="python3",  # the kernel of this Python, not the one that the notebook names
        timeout=seconds,
        interrupt_on_timeout=True,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    ended_early = False
    try:
        client.execute(env={**os.environ, "NBGRADER_EXECUTION": "autograde"})
    except DeadKernelError:
        ended_early = True
    return json.dumps({"notebook": notebook, "ended_early": ended_early})


if __name__ == "__main__":
    print(run_fresh(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
