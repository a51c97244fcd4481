"""Snapshots of dicts, compared with the raw memory of the dicts.

A lookup in a dict writes the reference count of the found value. In a forked child, the first write to a memory page
copies the page. Reading raw memory avoids the copies, and compares thousands of names at once.

If each name is looked up instead, grading takes 1.2 times as long (four pairs of runs).

Layout of a dict in CPython 3.11 to 3.14 with the GIL (Objects/dictobject.c):
- byte 16: number of items;
- byte 24, up to 3.13: a version, unique over all changes of all dicts (PEP 509);
- from byte 32: a pointer to the keys, and a pointer to the values if they are stored separately.
Layout of the keys:
- byte 9: logarithm of the size of the dict's hash index;
- byte 10: kind;
- byte 24: number of entries;
- from byte 32: the hash index, then the entries.

A dict with another layout counts as changed, and is then compared name by name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEAD, _HEAD_WORDS = 16, 4  # byte of a dict where its head begins
_VERSION, _BUT_VERSION, _SEPARATE = 1, [0, 2, 3], 3  # words of the head
_KEYS_WORDS, _INDEX = 4, 32  # words before the index, and the index's byte offset in the keys
_PAIR = ("key", "value")  # the last pointers of an entry
_ENTRY = {0: 3, 1: 2}  # pointers per entry by kind: hash, key, value; or key and value if all keys are strings

_WORD, _LOWEST, _ADDRESSES = 8, 4096, 1 << 47  # bytes: a pointer; the lowest mapped address; the address space
_Words = NDArray[np.uint64]
_memory: _Words = np.frombuffer(
    memoryview((ctypes.c_uint64 * ((_ADDRESSES - _LOWEST) // _WORD)).from_address(_LOWEST)).toreadonly(), np.uint64
)  # the whole address space; only requested words are read


def _places(address: int, count: int) -> NDArray[np.int64]:
    """Return the indices in the array `_memory` of `count` words. `address` is the address of the first word."""
    return np.arange(count, dtype=np.int64) + (address - _LOWEST) // _WORD


_NOWHERE = _places(_LOWEST, 0).reshape(0, 1)


class DictSnapshot:
    """A snapshot of one dict: indices and values of its memory words."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self._kept = items, tuple(items)  # keeps its memory alive, and its names' addresses taken
        self.head = _places(id(items) + _HEAD, _HEAD_WORDS)
        self.was_head = _memory.take(self.head)
        entries = _entries(self.was_head)
        self._entries = _NOWHERE if entries is None else entries
        self._was_entries = _memory.take(self._entries)
        known = items.items() if self._entries.shape[1] == len(_PAIR) else zip(items.values())
        self.readable = entries is not None and _present(self._was_entries) == [tuple(map(id, each)) for each in known]

    def same(self, head: _Words) -> bool:
        """Return True if the dict is certainly unchanged since the snapshot, else False.

        `head` holds the current words at the beginning of the dict: size, version and pointers.
        """
        if (head == self.was_head)[_BUT_VERSION].all() and (_memory.take(self._entries) == self._was_entries).all():
            return True
        if head[_SEPARATE] or self.was_head[_SEPARATE]:
            return False
        entries = _entries(head)  # adding and removing a name (IPython's `exit` in each cell) moves entries
        return entries is not None and _present(_memory.take(entries)) == _present(self._was_entries)


def _entries(head: _Words) -> NDArray[np.int64] | None:
    """Return the indices in the array `_memory` of a dict's entries, or None if the layout is unknown.

    `head` holds the words at the beginning of the dict. The result is an array with two columns, key and value, and a
    row for each entry. If the values are stored separately from the keys, the array has only the column of values.
    """
    count, _, keys, values = map(int, head)
    if not keys:
        return None
    if values:
        return _places(values, count).reshape(count, 1)
    kinds, used = map(int, _memory.take(_places(keys, _KEYS_WORDS))[[1, 3]])
    log_size, width = kinds >> 8 & 0xFF, _ENTRY.get(kinds >> 16 & 0xFF)
    if width is None or not count <= used <= 2 << 20 or log_size > 24:
        return None
    return _places(keys + _INDEX + (1 << log_size), used * width).reshape(used, width)[:, -len(_PAIR) :]


def _present(entries: _Words) -> list[tuple[int, ...]]:
    """Return the rows of `entries` as tuples, without the rows of deleted entries."""
    return [tuple(row) for row in entries.tolist() if any(row)]


def _has_versions() -> bool:
    """Return whether this version of Python stores a version number in each dict."""
    items: dict[str, object] = {"a": None}
    version = _places(id(items) + _HEAD, _HEAD_WORDS)[_VERSION]
    seen = [int(_memory[version])]
    for name, value in (("a", 1), ("b", 1), ("b", None), ("a", None)):
        if value is None:
            del items[name]
        else:
            items[name] = value
        seen.append(int(_memory[version]))
    return len(set(seen)) == len(seen)


_VERSIONED = _has_versions()


class DictSnapshots:
    """Snapshots of many dicts, compared all at once."""

    def __init__(self, tables: Iterable[DictSnapshot]) -> None:
        self._all = list(tables)
        self._unreadable = {index for index, table in enumerate(self._all) if not table.readable}
        self._heads = np.stack([table.head for table in self._all])
        self._seen = np.stack([table.was_head for table in self._all])  # heads of unchanged dicts, with any version

    def changed(self) -> list[int]:
        """Return the indices of the dicts that may have changed, in the order given at creation."""
        heads, changed = _memory.take(self._heads), set(self._unreadable)
        if _VERSIONED and heads.tobytes() == self._seen.tobytes():
            return sorted(changed)
        other = (heads != self._seen).any(axis=1) if _VERSIONED else np.ones(len(heads), dtype=bool)
        for index in map(int, np.flatnonzero(other)):
            if self._all[index].same(heads[index]):
                self._seen[index] = heads[index]
            else:
                changed.add(index)
        return sorted(changed)
