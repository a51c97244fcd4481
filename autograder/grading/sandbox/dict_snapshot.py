"""Has a dict changed since a snapshot? Asked of thousands of names at once, from the memory of the dicts themselves.

To look a name up raises a count in its value's header, and in a child of a fork the first write to a page copies the
page: comparing words of memory does neither. CPython keeps a dict so (Objects/dictobject.c, 3.11 to 3.14, with the
GIL): the number of items at byte 16; to 3.13 at byte 24 a number that no two changes of any dicts share (PEP 509); from
byte 32 pointers to keys and to separate values; in the keys the logarithm of the index's size at byte 9, the kind at
byte 10, the number of entries at byte 24, from byte 32 the index, then the entries. A dict not found to be so when the
snapshot is made counts as changed: it is looked at name by name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEAD, _HEAD_WORDS = 16, 4  # byte of a dict where its head begins
_VERSION, _BUT_VERSION, _SEPARATE = 1, [0, 2, 3], 3  # words of the head
_KEYS_WORDS, _INDEX = 4, 32  # what stands before the index, and the byte of the keys where it begins
_PAIR = ("key", "value")  # the last pointers of an entry
_ENTRY = {0: 3, 1: 2}  # pointers of one entry by kind: hash, key, value; or key and value, where all keys are texts

_WORD, _LOWEST, _ADDRESSES = 8, 4096, 1 << 47  # bytes: of a pointer, never mapped below, of a process
_Words = NDArray[np.uint64]
_memory: _Words = np.frombuffer(
    memoryview((ctypes.c_uint64 * ((_ADDRESSES - _LOWEST) // _WORD)).from_address(_LOWEST)).toreadonly(), np.uint64
)  # all of the process; only words that are asked for are read


def _places(address: int, count: int) -> NDArray[np.int64]:
    """Where in `_memory` the `count` words at an address are."""
    return np.arange(count, dtype=np.int64) + (address - _LOWEST) // _WORD


_NOWHERE = _places(_LOWEST, 0).reshape(0, 1)


class DictSnapshot:
    """One dict: where the words are that it consists of, and what was there."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self._kept = items, tuple(items)  # its memory is read as long as this is, and no name's address is used again
        self.head = _places(id(items) + _HEAD, _HEAD_WORDS)
        self.was_head = _memory.take(self.head)
        entries = _entries(self.was_head)
        self._entries = _NOWHERE if entries is None else entries
        self._was_entries = _memory.take(self._entries)
        known = items.items() if self._entries.shape[1] == len(_PAIR) else zip(items.values())
        self.readable = entries is not None and _present(self._was_entries) == [tuple(map(id, each)) for each in known]

    def same(self, head: _Words) -> bool:
        """Is it for certain as it was, with this `head` now?"""
        if (head == self.was_head)[_BUT_VERSION].all() and (_memory.take(self._entries) == self._was_entries).all():
            return True
        if head[_SEPARATE] or self.was_head[_SEPARATE]:
            return False
        entries = _entries(head)  # as names come and go again (`exit` in each cell), those that stay may move
        return entries is not None and _present(_memory.take(entries)) == _present(self._was_entries)


def _entries(head: _Words) -> NDArray[np.int64] | None:
    """Where a dict's entries are: a row of key and value for each, or of the value alone where a class keeps the keys.
    None if the memory does not look as it should."""
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
    """Without those of which only the place is left."""
    return [tuple(row) for row in entries.tolist() if any(row)]


def _has_versions() -> bool:
    """Does this Python give a dict another version with each change?"""
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
    """Many dicts, compared together."""

    def __init__(self, tables: Iterable[DictSnapshot]) -> None:
        self._all = list(tables)
        self._unreadable = {index for index, table in enumerate(self._all) if not table.readable}
        self._heads = np.stack([table.head for table in self._all])
        self._seen = np.stack([table.was_head for table in self._all])  # of those found as they were, with any version

    def changed(self) -> list[int]:
        """Indices of the dicts that may not be as they were."""
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
