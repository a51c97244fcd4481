"""System calls that Python's `os` lacks, through the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


class CannotIsolate(Exception):
    """A refused namespace or mount: the step, and the kernel's error text."""


def check(what: str, result: int) -> None:
    """Check the `result` of a call. Raises CannotIsolate if it is not 0."""
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")
