"""System calls that Python's `os` lacks, called through the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


class CannotIsolate(Exception):
    """The kernel's refusal of a step of isolation.

    The message names the system call and the kernel's reason.
    """


def check(what: str, result: int) -> None:
    """Raise CannotIsolate if the `result` of a system call is not 0. `what` names the call in the message."""
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")
