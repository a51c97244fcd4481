"""The guard: every replaced name is found, and nothing else."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograder.grading.sandbox.child.guard import Guard

NAME = "autograder.exercises.made.made"


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType(NAME)
    vars(made).update(first=1, second=2, table={"first": 1, "second": 2})
    return made


@pytest.fixture
def guard(module: types.ModuleType) -> Guard:
    return Guard({"made": {"made": module}})


def _swap(items: dict[str, Any]) -> None:
    items.update(first=items["second"], second=items["first"])


def _rebuild(items: dict[str, Any]) -> None:
    """Let the values be in the same order, but under other names."""
    kept = dict(items)
    items.clear()
    items.update(zip([*kept][1:] + [*kept][:1], kept.values()))


def _stand_in(items: dict[str, Any]) -> None:
    """Shadow a builtin, and remove a name that does not count, so that there are as many names as before."""
    items["len"] = items.pop("__doc__", None)


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], set[str]]] = {
    "a value": (lambda items: items.update(first=3), {"first"}),
    "two values in each other's place": (_swap, {"first", "second"}),
    "a name that is gone": (lambda items: items.pop("first"), {"first"}),
    "a name in the place of another": (lambda items: items.update(third=items.pop("second")), {"second"}),
    "all names in each other's place": (_rebuild, {"first", "second", "table"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found(change: str, module: types.ModuleType, guard: Guard) -> None:
    before, (apply, changed) = dict(vars(module)), CHANGES[change]
    assert guard.changed() == []
    apply(vars(module))
    assert {name for name in guard.changed() if name.startswith(NAME)} >= {f"{NAME}.{name}" for name in changed}
    vars(module).clear()
    vars(module).update(before)
    assert guard.changed() == []


def test_what_shadows_a_builtin_is_found(module: types.ModuleType, guard: Guard) -> None:
    _stand_in(vars(module))
    assert guard.changed() == [f"{NAME}.len"]


def test_a_change_in_a_table_is_found(module: types.ModuleType, guard: Guard) -> None:
    module.table["second"] = 3
    assert guard.changed() == [f"{NAME}.table.second"]


def test_names_that_come_and_go_are_no_change(module: types.ModuleType, guard: Guard) -> None:
    module.passing = None
    assert guard.changed() == []
    del module.passing
    assert guard.changed() == []


def test_replaced_builtins_hide_nothing(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("json.dumps", lambda x: x)
        for name in ("all", "map", "len", "zip"):
            patch.setattr(builtins, name, lambda *_: True)
        changed = guard.changed()
    assert sorted(changed) == ["builtins.all", "builtins.len", "builtins.map", "builtins.zip", "json.dumps"]


class Clamped(torch.Tensor):
    """A stand-in for a function of torch, and a tensor class."""


TORCH_NAMES = {
    "a function": (torch, "relu"),
    "a class": (torch.nn.modules.linear, "Linear"),
    "a method": (torch.Tensor, "backward"),
    "a static method": (torch.autograd.Function, "forward"),
    "a property": (torch.Tensor, "grad"),
    "what shadows a builtin": (torch, "len"),
    "what shadows a method": (torch.nn.Linear, "__call__"),
    "a function of C": (torch._C._autograd, "_enable_profiler"),
}


@pytest.mark.parametrize(("owner", "name"), TORCH_NAMES.values(), ids=TORCH_NAMES)
def test_what_is_torchs_is_put_back_for_a_check(owner: Any, name: str, guard: Guard) -> None:
    was = dict(vars(owner))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, Clamped, raising=False)
        with guard.torch_put_back(changed := []):
            assert dict(vars(owner)) == was
        assert (vars(owner)[name], changed) == (Clamped, [])
        assert guard.changed() == []
    assert dict(vars(owner)) == was


def test_what_is_removed_is_there_during_a_check(guard: Guard) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(torch, "relu")
        with guard.torch_put_back([]):
            assert torch.relu(torch.tensor(-1.0)) == 0
        assert not hasattr(torch, "relu")


def test_what_is_replaced_during_a_check_is_found(guard: Guard) -> None:
    patch = pytest.MonkeyPatch()
    with guard.torch_put_back(changed := []):
        patch.setattr(torch, "relu", Clamped)
        patch.setattr(torch.Tensor, "backward", Clamped)
    patch.undo()
    assert sorted(changed) == ["torch.Tensor.backward", "torch.relu"]


def test_an_equal_object_is_a_change(module: types.ModuleType, guard: Guard) -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    module.second = Equal()
    assert guard.changed() == [f"{NAME}.second"]


@pytest.mark.parametrize("kind", [torch._C.TensorBase, torch.Size, int])
def test_a_class_in_c_cannot_be_changed(kind: type) -> None:
    """The guard does not watch it."""
    with pytest.raises(TypeError, match="immutable"):
        kind.made = 1  # type: ignore[attr-defined]
