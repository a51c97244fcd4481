"""Processes that get nothing of the instructor's environment."""

from __future__ import annotations

import os
import subprocess


def environment() -> dict[str, str]:
    """Return environment variables for a helper process, without the instructor's own."""
    kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
    return kept | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}


def remove(folder: str) -> subprocess.Popen[bytes]:
    """Start to delete a student's folder, in a process of its own. Return the process.

    The folder may be deeper than Python's recursion goes, and hold more files than a fork server has time for.
    """
    return subprocess.Popen(
        ["rm", "-rf", folder], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    )
