"""The executable search path for nbgrader's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def put_interpreter_on_path() -> None:
    """Add the folder of this Python to PATH, also if the environment is not activated.

    nbgrader calls the command `alembic`, which is in that folder, by name.
    """
    here, path = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + path
