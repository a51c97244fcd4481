"""How the template's memory lies, so that forks of it cost little: what children read is in huge pages, and what they
allocate goes to pages that hold nothing else, instead of to holes all over pages that would have to be copied.

All of it needs Linux 6.1 and the GNU C library; elsewhere nothing happens, and children are slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import re
from pathlib import Path

from .kernel import libc

_HUGE = 2 << 20  # bytes of a huge page
_PAGES = _HUGE // mmap.PAGESIZE
_WORTH = 32  # small pages in use that make a huge one worth it
_ENTRY, _IN_USE = 8, 7  # bytes of a page's entry in /proc/self/pagemap, and the top bit of the last of them
_ADVISE_HUGE, _ADVISE_COLLAPSE = 14, 25  # from <sys/mman.h>
_MAY_MOVE, _FIXED = 1, 2  # of mremap
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # from <malloc.h>
_ROOM, _LARGEST = 32 << 20, 1 << 20  # bytes: for what is allocated later, and of a hole that is looked for

_WRITABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (rw-p) \S+ 00:00 0 *(?:\[heap\])?$", re.M)
_READABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (r-xp|r--p) \S+ \S+ [1-9]\d* +/", re.M)

libc.malloc.argtypes, libc.malloc.restype = (ctypes.c_size_t,), ctypes.c_void_p
libc.free.argtypes = (ctypes.c_void_p,)
libc.sbrk.restype = ctypes.c_void_p
libc.madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
libc.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
libc.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
libc.mmap.restype = ctypes.c_void_p
libc.mremap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
libc.mremap.restype = ctypes.c_void_p


def use_huge_pages() -> None:
    """Gather the memory of this process in pages of 2 MB: a fork then copies one entry of a page table where it copied
    512, and its end is as much cheaper. Code of libraries, too: it is not looked up in each child's file pages."""
    for address, _ in _huge_places(_WRITABLE):
        libc.madvise(address, _HUGE, _ADVISE_COLLAPSE)
    with contextlib.suppress(OSError), open("/proc/self/pagemap", "rb", buffering=0) as pages:
        for address, access in _huge_places(_READABLE):
            used = os.pread(pages.fileno(), _PAGES * _ENTRY, address // mmap.PAGESIZE * _ENTRY)[_IN_USE::_ENTRY]
            if sum(last >> 7 for last in used) >= _WORTH and not _put_in_huge_page(address, access):
                break


def _huge_places(kind: re.Pattern[str]) -> list[tuple[int, str]]:
    """Where a huge page fits into this process's memory of one kind, and the access that there is."""
    found = kind.findall(Path("/proc/self/maps").read_text(encoding="utf-8"))
    spans = [(int(low, 16), int(high, 16), access) for low, high, access in found]
    return [(place, access) for low, high, access in spans for place in range(_up(low), high - _HUGE + 1, _HUGE)]


def _up(address: int) -> int:
    return -(-address // _HUGE) * _HUGE


def _put_in_huge_page(address: int, access: str) -> bool:
    """Put a copy of memory that is only read into its place. Returns whether that can be done here."""
    protection = mmap.PROT_READ | (mmap.PROT_EXEC if "x" in access else 0)
    start = libc.mmap(None, 2 * _HUGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if start == ctypes.c_void_p(-1).value:
        return False
    copy, end = _up(start), start + 2 * _HUGE
    libc.madvise(copy, _HUGE, _ADVISE_HUGE)
    ctypes.memmove(copy, address, _HUGE)
    done: bool = (
        libc.madvise(copy, _HUGE, _ADVISE_COLLAPSE) == 0
        and libc.mprotect(copy, _HUGE, protection) == 0  # refused where memory that was written must not be run
        and libc.mremap(copy, _HUGE, _HUGE, _MAY_MOVE | _FIXED, address) == address
    )
    for low, high in ((start, copy), (copy + _HUGE, end)) if done else ((start, end),):
        if low < high:
            libc.munmap(low, high - low)
    return done


class _Use(ctypes.Structure):
    """`struct mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in re.findall(r"\w+", _names))


def fill_holes() -> None:
    """Allocate all that is free between what the C library has given out, for good: what is asked for from now on
    comes from the end of its memory, one after another."""
    try:
        libc.mallinfo2.restype = _Use
    except AttributeError:
        return
    libc.mallopt(_MMAP_THRESHOLD, _ROOM)
    libc.mallopt(_TRIM_THRESHOLD, 2 * _ROOM)  # the end stays when it is free
    libc.mallopt(_TOP_PAD, _ROOM)
    end = libc.sbrk(0) - libc.mallinfo2().keepcost
    size = _LARGEST
    while size >= 2 * _ENTRY:
        while (hole := libc.malloc(size)) < end:
            pass
        libc.free(hole)
        size = size * 7 // 8 if size > 1024 else size - 2 * _ENTRY


def begin_fresh() -> None:
    """In a child: leave the huge page in which the template allocates, so that none of its pages are copied."""
    libc.malloc(_HUGE)
