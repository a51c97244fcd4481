"""The choice of a wall, on the machine that grades."""

from __future__ import annotations

import functools
import subprocess
import sys

from ...limits import AUTO, FULL, LANDLOCK
from .clean_process import environment


def strongest(isolation: str) -> str:
    """Return the wall that the setting `isolation` stands for on this machine.

    "auto" is "full" where the kernel allows it, else "landlock". Every other setting stands for itself. A wall that
    the kernel refuses raises an error later, when it is built.
    """
    if isolation != AUTO:
        return isolation
    return FULL if _allows_namespaces() else LANDLOCK


@functools.cache
def _allows_namespaces() -> bool:
    """Return whether a process without torch can be isolated by namespaces: a trial of 0.1 seconds."""
    command = [sys.executable, "-P", "-m", f"{__package__}.namespace_trial"]
    quiet = subprocess.DEVNULL
    return not subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment(), cwd="/").returncode
