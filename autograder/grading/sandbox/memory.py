"""How the template's memory lies, so that forks of it cost little: all together, in huge pages, and without holes in
which children would allocate, each on a page that has to be copied for it.

A huge page that a child only reads is one entry of a page table instead of 512, to be copied when it is forked and
taken away when it ends.

All of it needs the GNU C library, huge pages its version 2.35 (`starting` asks it for them); elsewhere nothing happens,
and children are slower.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from .libc import libc

_HUGE = 2 << 20  # bytes of a huge page
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of mallopt, from <malloc.h>
_ROOM, _MOST = 32 << 20, 256 << 20  # bytes: for what is allocated later, and to fill holes with
_SMALL = range(512, 0, -16)  # bytes: what Python allocates in arenas of its own, in steps of what it rounds to
_ANY = *(int(1e6 * 0.875**n) for n in range(50)), *range(1024, 0, -16)  # bytes: ever smaller, so that no hole is left
_MOST_OF_AN_ARENA = 50 * 31  # of the largest: an arena of 1 MB holds 64 times 31, from 3.10 on
_RAW = 0  # PYMEM_DOMAIN_RAW
_HEAP = re.compile(r"^([0-9a-f]+)-.*\[heap\]$", re.M)

_first: list[object] = []  # what there was before Python's memory came from the heap; empty while it does not
_python = ctypes.pythonapi
for of in (libc.malloc, _python.PyObject_Malloc):
    of.argtypes, of.restype = (ctypes.c_size_t,), ctypes.c_void_p
for of in (libc.free, _python.PyObject_Free):
    of.argtypes = (ctypes.c_void_p,)
libc.sbrk.restype = ctypes.c_void_p


class _Use(ctypes.Structure):
    """`struct mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in re.findall(r"\w+", _names))


class _Allocator(ctypes.Structure):
    """`PyMemAllocatorEx`."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free"))


class _Arenas(ctypes.Structure):
    """`PyObjectArenaAllocator`."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "alloc", "free"))


@contextlib.contextmanager
def gc_frozen() -> Iterator[None]:
    """What is imported and made inside stays for good: no collection walks over it, which for all of torch takes as
    long as ten submissions, and in a child would copy every page of it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _fill(allocate: Callable[[int], int], free: Callable[[int], None], sizes: Iterable[int], low: int) -> None:
    """Allocate, for good, until what is given out lies in the heap, and not below `low`."""
    left = _MOST
    for size in sizes:
        while not low <= (place := allocate(size)) < libc.sbrk(0):
            left -= size
            if left < 0:  # the heap does not grow any more
                return
        free(place)


def use_heap() -> None:
    """In a process that has only just started: from now on Python's arenas come from the C library's heap, instead of
    lying where there is room between the libraries that are loaded."""
    heap = hasattr(libc, "mallinfo2") and _HEAP.search(Path("/proc/self/maps").read_text(encoding="utf-8"))
    if not heap:
        return
    libc.mallopt(_MMAP_THRESHOLD, _ROOM)
    libc.mallopt(_TRIM_THRESHOLD, 2 * _ROOM)  # the end stays when it is free
    libc.mallopt(_TOP_PAD, _ROOM)
    low, place = int(heap[1], 16), libc.malloc(_ROOM // 2)
    libc.free(place)
    if not low <= place < libc.sbrk(0):  # it cannot grow
        return
    raw, before = _Allocator(), _Arenas()
    _python.PyMem_GetAllocator(_RAW, ctypes.byref(raw))
    _python.PyObject_GetArenaAllocator(ctypes.byref(before))
    _python.PyObject_SetArenaAllocator(ctypes.byref(_Arenas(raw.context, raw.malloc, raw.free)))
    # The arenas that there are do not come from the heap: until the process ends, none of them may be freed. What room
    # there is in them is taken for good; one without is full of what a process starts with, and that is kept.
    _fill(_python.PyObject_Malloc, _python.PyObject_Free, _SMALL, low)
    _first.extend(gc.get_objects())
    atexit.register(_python.PyObject_SetArenaAllocator, ctypes.byref(before))


def fill_holes() -> None:
    """Allocate, for good, all that is free between what the C library and Python have given out: what is asked for from
    now on comes from the end of the heap, one after another. Nothing happens where the heap is not used."""
    if not _first:
        return
    libc.mallinfo2.restype = _Use
    end = libc.sbrk(0) - libc.mallinfo2().keepcost
    _fill(libc.malloc, libc.free, _ANY, end)
    _fill(_python.PyObject_Malloc, _python.PyObject_Free, _SMALL, end)
    for _ in range(_MOST_OF_AN_ARENA):  # the last one is the template's, which needs little of it
        _python.PyObject_Malloc(_SMALL[0])


def begin_fresh() -> None:
    """In a child: leave the huge page in which the template allocates, so that none of its pages are copied."""
    libc.malloc(_HUGE)
