"""The template's memory in huge pages: a fork then copies one entry of the page table where it copied 512."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

_COLLAPSE = 25  # madvise; Linux 6.1 and later, others refuse it, and nothing is lost
_HUGE = 2 << 20
_ANONYMOUS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(?:\[heap\])?$", re.M)


def collapse() -> None:
    """Put the memory that is this process's own, and no file's, into huge pages where it fills them."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for low, high in _ANONYMOUS.findall(Path("/proc/self/maps").read_text(encoding="utf-8")):
        for start in range(-(-int(low, 16) // _HUGE) * _HUGE, int(high, 16) - _HUGE + 1, _HUGE):
            if madvise(start, _HUGE, _COLLAPSE) != 0 and start == 0:
                return
