"""The search path for nbgrader's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def put_interpreter_on_path() -> None:
    """Let this process find `alembic`, which nbgrader calls by name, even if the environment is not activated."""
    here, path = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if here not in path.split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + path
