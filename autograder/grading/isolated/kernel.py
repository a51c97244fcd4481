"""Calls of the kernel that Python's `os` does not have, through the C library."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

_MADV_COLLAPSE, _HUGE = 25, 2 << 20  # from <sys/mman.h>, Linux 6.1; bytes
_WRITABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?$", re.M)


class CannotIsolate(Exception):
    """A namespace or mount was refused: which step, and the kernel's word on it."""


def check(what: str, result: int) -> None:
    """Raises CannotIsolate unless the call's `result` is 0."""
    if result != 0:
        raise CannotIsolate(f"{what}: {os.strerror(ctypes.get_errno())}")


def use_huge_pages() -> None:
    """Gather the memory of this process in pages of 2 MB, where the kernel can: a fork then copies one entry of a page
    table where it copied 512, and its end is as much cheaper."""
    for low, high in _WRITABLE.findall(Path("/proc/self/maps").read_text(encoding="utf-8")):
        for address in range(-(-int(low, 16) // _HUGE) * _HUGE, int(high, 16) - _HUGE + 1, _HUGE):
            libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(_HUGE), _MADV_COLLAPSE)
