"""The choice of a wall, on the machine that grades."""

from __future__ import annotations

import functools
import subprocess
import sys

from ...wall_kinds import Wall
from .clean_process import environment


def strongest(isolation: Wall) -> Wall:
    """Return the wall that the setting `isolation` stands for on this machine.

    AUTO is FULL where the kernel allows it, else LANDLOCK. Every other setting stands for itself. A wall that the
    kernel refuses raises an error later, when it is built.
    """
    if isolation is not Wall.AUTO:
        return isolation
    return Wall.FULL if _allows_namespaces() else Wall.LANDLOCK


@functools.cache
def _allows_namespaces() -> bool:
    """Return whether the kernel allows isolation by namespaces. A process without torch tries it in 0.1 seconds."""
    command = [sys.executable, "-P", "-m", f"{__package__}.namespace_trial"]
    quiet = subprocess.DEVNULL
    return not subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment(), cwd="/").returncode
