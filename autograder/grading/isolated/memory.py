"""How the template's memory lies, so that forks of it cost little: in huge pages, and without holes in which children
would allocate, each on a page that has to be copied for it.

Huge pages need Linux 6.1, the rest the GNU C library; elsewhere nothing happens, and children are slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
from collections.abc import Iterator
from pathlib import Path

from .kernel import libc

_HUGE = 2 << 20  # bytes of a huge page
_COLLAPSE = 25  # of madvise, from <sys/mman.h>
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of mallopt, from <malloc.h>
_ROOM, _LARGEST, _SMALLEST = 32 << 20, 1 << 20, 16  # bytes: for what is allocated later, and of holes
_WRITABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?$", re.M)

libc.malloc.argtypes, libc.malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
libc.free.argtypes = (ctypes.c_void_p,)
libc.sbrk.restype = ctypes.c_void_p
libc.madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class _Use(ctypes.Structure):
    """`struct mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in re.findall(r"\w+", _names))


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What is imported and made inside stays for good: no collection walks over it, which for all of torch takes as
    long as ten submissions, and in a child would copy every page of it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def use_huge_pages() -> None:
    """Gather the memory of this process in pages of 2 MB, where the kernel can: a fork then copies one entry of a page
    table where it copied 512, and its end is as much cheaper."""
    for low, high in _WRITABLE.findall(Path("/proc/self/maps").read_text(encoding="utf-8")):
        for address in range(-(-int(low, 16) // _HUGE) * _HUGE, int(high, 16) - _HUGE + 1, _HUGE):
            libc.madvise(address, _HUGE, _COLLAPSE)


def fill_holes() -> None:
    """Allocate, for good, all that is free between what the C library has given out: what is asked for from now on
    comes from the end of its memory, one after another."""
    if not hasattr(libc, "mallinfo2"):
        return
    libc.mallinfo2.restype = _Use
    libc.mallopt(_MMAP_THRESHOLD, _ROOM)
    libc.mallopt(_TRIM_THRESHOLD, 2 * _ROOM)  # the end stays when it is free
    libc.mallopt(_TOP_PAD, _ROOM)
    end = libc.sbrk(0) - libc.mallinfo2().keepcost
    size = _LARGEST
    while size >= _SMALLEST:
        while (place := libc.malloc(size)) < end:
            pass
        libc.free(place)
        size = size * 7 // 8 if size > 1024 else size - _SMALLEST


def begin_fresh() -> None:
    """In a child: leave the huge page in which the template allocates, so that none of its pages are copied."""
    libc.malloc(_HUGE)
