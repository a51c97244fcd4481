"""Numbers that CPython keeps in dicts, and replaces whenever a dict changes.

The field is private: `ma_version_tag` of PyDictObject, PEP 509, in Python 3.11 to 3.13. It is therefore tried first.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

_OFFSET = 3 * ctypes.sizeof(ctypes.c_void_p)  # after the reference count, the type and the number of items


def version_of(namespace: Mapping[str, Any]) -> ctypes.c_uint64 | None:
    """Return the number in the dict of a module or a class.

    The `value` of the returned object is read anew each time. `namespace` is what `vars` returns. Returns None if this
    Python keeps no such number. The dict must stay alive.
    """
    return _field(namespace) if _is_kept() else None


def _field(namespace: Mapping[str, Any]) -> ctypes.c_uint64:
    behind = gc.get_referents(namespace)[0] if isinstance(namespace, MappingProxyType) else namespace
    return ctypes.c_uint64.from_address(id(behind) + _OFFSET)


@functools.cache
def _is_kept() -> bool:
    """Return whether each change of such a dict moves its number, and reading does not."""
    module, kind = ModuleType("tried"), type("Tried", (), {})
    return all(map(_moves, (module, kind)))


def _moves(owner: Any) -> bool:
    namespace = vars(owner)
    number, first, second = _field(namespace), object(), object()
    changes: list[tuple[Callable[[], object], bool]] = [
        (lambda: setattr(owner, "name", first), True),
        (lambda: setattr(owner, "name", second), True),
        (lambda: namespace.get("name"), False),
        (lambda: owner.name, False),
        (lambda: delattr(owner, "name"), True),
    ]
    if isinstance(namespace, dict):
        changes += [(lambda: namespace.update(name=first), True), (lambda: namespace.pop("name"), True)]
    for change, moves in changes:
        before = number.value
        change()
        if (number.value != before) is not moves:
            return False
    return True
