"""Calls of the kernel that Python's `os` does not have, through the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


class CannotIsolate(Exception):
    """A namespace or mount was refused: which step, and the kernel's word on it."""


def check(what: str, result: int) -> None:
    """Raises CannotIsolate unless the call's `result` is 0."""
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")
