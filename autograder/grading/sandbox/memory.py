"""Heap layout of the fork server, with which children copy few pages.

The heap is contiguous, in huge memory pages, and its free blocks are filled in advance. A child that allocated in a
free block would copy the memory page around the block.

For a huge page that a child only reads, the kernel needs one page table entry instead of 512. Each entry is copied at
the fork and freed at the child's end.

This layout needs the GNU C library, and version 2.35 for huge pages (`fork_server_process` requests them). Elsewhere
nothing happens, and children are slower.
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

_HUGE = 2 << 20  # bytes of a huge memory page
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of mallopt, from <malloc.h>
_ROOM, _MOST = 32 << 20, 256 << 20  # bytes: headroom for later allocations; the most that filling free blocks may take
_SMALL = range(512, 0, -16)  # bytes: sizes that Python allocates in its own arenas, in steps of its rounding
_ANY = *(int(1e6 * 0.875**n) for n in range(50)), *range(1024, 0, -16)  # bytes: decreasing, to fill every free block
_MOST_OF_AN_ARENA = 50 * 31  # blocks of the largest size: since 3.10, an arena of 1 MB holds 64 times 31
_RAW = 0  # PYMEM_DOMAIN_RAW
_HEAP = re.compile(r"^([0-9a-f]+)-.*\[heap\]$", re.M)

_first: list[object] = []  # objects created before `use_heap`, kept alive; empty if the heap is not used
_python = ctypes.pythonapi
for of in (libc.malloc, _python.PyObject_Malloc):
    of.argtypes, of.restype = (ctypes.c_size_t,), ctypes.c_void_p
for of in (libc.free, _python.PyObject_Free):
    of.argtypes = (ctypes.c_void_p,)
libc.sbrk.restype = ctypes.c_void_p


class _Use(ctypes.Structure):
    """The C library's `struct mallinfo2`, statistics of the heap."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in re.findall(r"\w+", _names))


class _Allocator(ctypes.Structure):
    """CPython's `PyMemAllocatorEx`, a set of allocation functions."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free"))


class _Arenas(ctypes.Structure):
    """CPython's `PyObjectArenaAllocator`, the functions that get memory for objects."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "alloc", "free"))


@contextlib.contextmanager
def gc_frozen() -> Iterator[None]:
    """Disable garbage collection in the `with` block. Afterwards exempt all existing objects from it.

    Collecting torch's objects takes as long as ten submissions. In a child a garbage collection would copy every memory
    page.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _fill(allocate: Callable[[int], int], free: Callable[[int], None], sizes: Iterable[int], low: int) -> None:
    """Allocate blocks, never to be freed, until the free blocks below the address `low` are used up.

    `allocate` and `free` belong to one allocator. `sizes` are the block sizes in bytes, tried in this order.
    """
    left = _MOST
    for size in sizes:
        while not low <= (place := allocate(size)) < libc.sbrk(0):
            left -= size
            if left < 0:  # the heap cannot grow any more
                return
        free(place)


def use_heap() -> None:
    """Take the memory for Python objects from the C library's heap from now on.

    Must be called in a process that has just started. By default Python maps this memory in gaps between the loaded
    libraries.
    """
    heap = hasattr(libc, "mallinfo2") and _HEAP.search(Path("/proc/self/maps").read_text(encoding="utf-8"))
    if not heap:
        return
    libc.mallopt(_MMAP_THRESHOLD, _ROOM)
    libc.mallopt(_TRIM_THRESHOLD, 2 * _ROOM)  # keep free memory at the heap's end
    libc.mallopt(_TOP_PAD, _ROOM)
    low, place = int(heap[1], 16), libc.malloc(_ROOM // 2)
    libc.free(place)
    if not low <= place < libc.sbrk(0):  # the heap cannot grow
        return
    raw, before = _Allocator(), _Arenas()
    _python.PyMem_GetAllocator(_RAW, ctypes.byref(raw))
    _python.PyObject_GetArenaAllocator(ctypes.byref(before))
    _python.PyObject_SetArenaAllocator(ctypes.byref(_Arenas(raw.context, raw.malloc, raw.free)))
    # Existing arenas are not on the heap: none of them may be freed until the process ends. Free blocks in them are
    # filled permanently. An arena without free blocks holds objects from the process's start, which are kept.
    _fill(_python.PyObject_Malloc, _python.PyObject_Free, _SMALL, low)
    _first.extend(gc.get_objects())
    atexit.register(_python.PyObject_SetArenaAllocator, ctypes.byref(before))


def fill_holes() -> None:
    """Fill all free blocks of the heap permanently. Later allocations are then consecutive, at the heap's end.

    Does nothing if `use_heap` could not use the heap.
    """
    if not _first:
        return
    libc.mallinfo2.restype = _Use
    end = libc.sbrk(0) - libc.mallinfo2().keepcost
    _fill(libc.malloc, libc.free, _ANY, end)
    _fill(_python.PyObject_Malloc, _python.PyObject_Free, _SMALL, end)
    for _ in range(_MOST_OF_AN_ARENA):  # fill the last arena: the fork server itself needs little of it
        _python.PyObject_Malloc(_SMALL[0])


def begin_fresh() -> None:
    """Make new allocations of a child go to fresh memory.

    The huge page shared with the fork server would be copied at the first write.
    """
    libc.malloc(_HUGE)
