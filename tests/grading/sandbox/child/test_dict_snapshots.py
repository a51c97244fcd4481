"""Snapshots of dicts, compared by their memory: every change is found."""

from __future__ import annotations

import ctypes
import gc
import types
from collections.abc import Callable
from typing import Any

import pytest

from autograder.grading.sandbox.child import dict_snapshot as memory
from autograder.grading.sandbox.child.dict_snapshot import DictSnapshot, DictSnapshots


class Plain:
    def __init__(self) -> None:
        self.first, self.second = 1, 2


def _of_a_class() -> dict[str, Any]:
    made = type("Made", (), {"first": 1, "second": 2})
    return next(each for each in gc.get_referents(vars(made)) if isinstance(each, dict))


KINDS: dict[str, Callable[[], dict[Any, Any]]] = {
    "of a module": lambda: vars(_module()),
    "of a class": _of_a_class,
    "of an object": lambda: vars(Plain()),
    "with keys of all kinds": lambda: {"first": 1, "second": 2, 3: 4, None: 5},
    "large": lambda: {**{f"name{number}": number for number in range(3000)}, "first": 1, "second": 2},
}


def _module() -> types.ModuleType:
    module = types.ModuleType("made")
    vars(module).update(first=1, second=2)
    KEPT.append(module)
    return module


KEPT: list[object] = []


def _rebuilt(items: dict[Any, Any]) -> None:
    kept = dict(items)
    items.clear()
    items.update(kept)


def _grown(items: dict[Any, Any]) -> None:
    for number in range(100):
        items[f"new{number}"] = None


CHANGES: dict[str, Callable[[dict[Any, Any]], None]] = {
    "a value": lambda items: items.update(first=3),
    "two values in each other's place": lambda items: items.update(first=2, second=1),
    "a name that was not there": lambda items: items.update(third=3),
    "a name that is gone": lambda items: items.pop("first") and None,
    "a name in the place of another": lambda items: items.update(third=items.pop("second")),
    "many names": _grown,
    "nothing left": lambda items: items.clear(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found(kind: str, change: str) -> None:
    items, other = KINDS[kind](), {"a": 1}
    tables = DictSnapshots([DictSnapshot(other), DictSnapshot(items)])
    assert tables.changed() == []
    CHANGES[change](items)
    assert tables.changed() == tables.changed() == [1]
    other["a"] = 2
    assert tables.changed() == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_is_put_back_is_no_change(kind: str) -> None:
    items = KINDS[kind]()
    tables = DictSnapshots([DictSnapshot(items)])
    items["first"] = 3
    assert tables.changed() == [0]
    items["first"] = 1
    assert tables.changed() == []
    items["first"] = 3  # after that the same number counts as seen
    assert tables.changed() == [0]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_built_anew_may_have_changed(kind: str) -> None:
    items = KINDS[kind]()
    tables = DictSnapshots([DictSnapshot(items)])
    _rebuilt(items)
    items["first"] = 3
    assert tables.changed() == [0]


@pytest.mark.parametrize("kind", ["of a module", "of a class", "large"])
def test_names_that_come_and_go_are_no_change(kind: str) -> None:
    """As IPython's do in the builtins, in each cell: the names that stay move to other places."""
    items = KINDS[kind]()
    last, value = list(items.items())[-1]
    tables = DictSnapshots([DictSnapshot(items)])
    for _ in range(200):
        items["passing"] = None
        del items[last], items["passing"]
        items[last] = value
        assert tables.changed() == []
    del items[last]
    items["passing"] = value
    assert tables.changed() == [0]


def test_what_specialized_code_stores_is_found() -> None:
    """The interpreter has ways of its own to set an attribute in a loop that has run for a while."""
    thing, module = Plain(), _module()
    exec("def store(value):\n    global first\n    first = value", vars(module))

    def store(value: object) -> None:
        thing.first = value  # type: ignore[assignment]

    values = [object() for _ in range(510)]  # kept, as the guard keeps what was there: an address is used once
    for value in values[:500]:
        store(value)
        module.store(value)
    tables = DictSnapshots([DictSnapshot(vars(thing)), DictSnapshot(vars(module))])
    for value in values[500:]:
        store(value)
        assert tables.changed() == ([0] if value is values[500] else [0, 1])
        module.store(value)
        assert tables.changed() == [0, 1]


def test_the_memory_is_not_for_writing() -> None:
    with pytest.raises(ValueError, match="read-only"):
        memory._memory[(id(KEPT) - 4096) // ctypes.sizeof(ctypes.c_void_p)] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        memory._memory.flags.writeable = True
