"""Preparation of the environment variable PATH for nbgrader's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def put_interpreter_on_path() -> None:
    """Add the folder of this Python's executable to the environment variable PATH.

    nbgrader runs the program `alembic` from that folder. If the virtual environment is not activated, nbgrader would
    not find the program.
    """
    here, path = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + path
