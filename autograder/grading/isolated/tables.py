"""Has a dict changed since a snapshot? Asked of thousands of names at once, from the memory of the dicts themselves.

To look a name up raises a count in its value's header, and in a child of a fork the first write to a page copies the
page: comparing tables byte for byte does neither. CPython keeps a dict so (Objects/dictobject.c, 3.11 to 3.14, with the
GIL): the number of items at byte 16, from byte 32 pointers to keys and to separate values; in the keys the logarithm of
the index's size at byte 9, the kind at byte 10, the number of entries at byte 24, from byte 32 the index, then the
entries. A dict not found to be so when the snapshot is made counts as changed: it is looked at name by name.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from typing import Any

_DICT = struct.Struct("=16xQ8xQQ")  # of the object: items, keys, values
_KEYS = struct.Struct("=9xBB13xQ")  # of its keys: logarithm of the index's size, kind, entries
_INDEX = 32  # byte of the keys where it begins
_ENTRY = {0: 3, 1: 2}  # pointers of one entry by kind: hash, key, value; or key and value, where all keys are texts
_REMOVED = (0, 0)  # what stays of an item

_Buffer = Any  # what `ctypes` makes of memory; it has the buffer protocol and no name that typing knows


def _memory(address: int, size: int) -> _Buffer:
    return (ctypes.c_char * size).from_address(address)


class Table:
    """One dict: where its memory is, and what was there."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self._kept = items  # its memory is read as long as this is
        self.head: tuple[_Buffer, ...] = ()
        self.entries: _Buffer = b""
        self.readable = self._find(items)
        self.was_head, self.was_entries = b"".join(self.head), bytes(self.entries)

    def _find(self, items: dict[Any, Any]) -> bool:
        count, keys, values = _DICT.unpack(_memory(id(items), _DICT.size))
        if count != len(items) or not keys:
            return False
        if values:  # of an object whose class keeps the keys
            self.entries = _memory(values, count * 8)
            self.head = (_memory(id(items) + 16, 8), _memory(id(items) + 32, 16))
            return list(struct.unpack(f"={count}Q", self.entries)) == [id(value) for value in items.values()]
        log_size, kind, used = _KEYS.unpack(_memory(keys, _KEYS.size))
        width = _ENTRY.get(kind)
        if width is None or not count <= used <= 2 << 20 or log_size > 24:
            return False
        entries = _memory(keys + _INDEX + (1 << log_size), used * width * 8)
        found = struct.unpack(f"={used * width}Q", entries)
        pairs = [pair for pair in zip(found[width - 2 :: width], found[width - 1 :: width]) if pair != _REMOVED]
        if pairs != [(id(key), id(value)) for key, value in items.items()]:
            return False
        self.head = (_memory(id(items) + 16, 8), _memory(id(items) + 32, 16))
        self.entries = entries
        return True

    def same(self) -> bool:
        """Is it for certain as it was? The entries are read only where the dict still points to them."""
        return self.readable and b"".join(self.head) == self.was_head and bytes(self.entries) == self.was_entries


class Tables:
    """Many dicts, compared together. One that was found changed is looked at by name from then on."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._all = list(enumerate(tables))
        self._changed = [index for index, table in self._all if not table.readable]
        self._join()

    def _join(self) -> None:
        same = [table for index, table in self._all if index not in self._changed]
        self._heads = [part for table in same for part in table.head]
        self._entries = [table.entries for table in same]
        self._was_heads = b"".join(table.was_head for table in same)
        self._was_entries = b"".join(table.was_entries for table in same)

    def changed(self) -> list[int]:
        """Indices of the dicts that may not be as they were."""
        if b"".join(self._heads) != self._was_heads or b"".join(self._entries) != self._was_entries:
            self._changed = [index for index, table in self._all if index in self._changed or not table.same()]
            self._join()
        return self._changed
