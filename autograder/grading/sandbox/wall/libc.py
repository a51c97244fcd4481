"""System calls that Python's module `os` lacks, called through the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


class CannotIsolate(Exception):
    """An error: the kernel has refused a step of isolation.

    The message names the system call and the kernel's reason.
    """


def check_call(what: str, result: int) -> None:
    """Raise CannotIsolate if `result`, the return value of a system call, is not 0.

    `what` is the name of the system call in the error message.
    """
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")
