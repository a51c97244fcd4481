"""Detection of tensors that override attributes of `torch.Tensor`.

A subclass or an instance can override an attribute such as `is_leaf`. A probe would then read a forged value.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import torch

# Bypass metaclasses and `__torch_function__`, which may forge the result.
_CLASSES = type.__dict__["__mro__"].__get__
_NAMES = type.__dict__["__dict__"].__get__
_OF_TORCH = frozenset({*torch.nn.Parameter.__mro__, torch.nn.Buffer})
_OF_TORCH |= {torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer}
_ONLY_SHOWN = frozenset(
    {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__slots__"}
)
_ONLY_SHOWN |= {"__firstlineno__", "__static_attributes__"}  # from Python 3.13 on
_ONLY_SHOWN |= {"__annotate__", "__annotate_func__", "__annotations_cache__"}  # from 3.14 on
_ONLY_SHOWN |= {"__repr__", "__str__", "__format__", "__dir__", "__init__", "__new__", "__init_subclass__"}
_TENSORS_NAMES = frozenset(dir(torch.Tensor)) - _ONLY_SHOWN
_DEEPEST = 8


def find_replaced(*values: object) -> str | None:
    """Return the first attribute of `torch.Tensor` that a tensor in `values` overrides.

    Returns the attribute's name, or None. Searches lists, tuples, dicts, namespaces, modules, optimizers and gradients.
    Runs no code of the tensors.
    """
    with torch._C.DisableTorchFunctionSubclass():
        return _find(values, 0)


def _find(values: Iterable[object], depth: int) -> str | None:
    for value in values:
        if isinstance(value, torch.Tensor):
            if name := _replaced(value):
                return name
            parts: Iterable[object] = (value.grad,) if _may_have_gradient(value) else ()
        else:
            parts = _parts(value)
        if parts and depth < _DEEPEST and (name := _find(parts, depth + 1)):
            return name
    return None


def _replaced(tensor: torch.Tensor) -> str | None:
    classes = () if type(tensor) is torch.Tensor else _CLASSES(type(tensor))
    for names in (*(_NAMES(each) for each in classes if each not in _OF_TORCH), tensor.__dict__):
        if replaced := _TENSORS_NAMES.intersection(names):
            return min(replaced)
    return None


def _may_have_gradient(tensor: torch.Tensor) -> bool:
    """Return whether `.grad` of a tensor can be read without a warning."""
    try:
        return tensor.is_leaf or tensor.retains_grad
    except RuntimeError:  # a view of a base that was edited in a way that torch forbids
        return False


def _parts(value: object) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        return tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value)
    if isinstance(value, dict):
        return dict.values(value)
    if isinstance(value, torch.nn.Module):
        own = object.__getattribute__(value, "__dict__")
        return [own.get("_parameters"), own.get("_buffers"), own.get("_modules")]
    if isinstance(value, (SimpleNamespace, torch.optim.Optimizer)):
        return dict.values(object.__getattribute__(value, "__dict__"))
    return ()
