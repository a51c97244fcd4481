"""Detection of tensors that override attributes of `torch.Tensor`.

A subclass or an instance can override an attribute such as `is_leaf`. A probe would then read a forged value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

# Bypass metaclasses and `__torch_function__`, which may forge the result.
_CLASSES = type.__dict__["__mro__"].__get__
_NAMES = type.__dict__["__dict__"].__get__
_OF_TORCH = {*torch.nn.Parameter.__mro__, torch.nn.Buffer}
_OF_TORCH |= {torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer}
_ONLY_SHOWN = {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__slots__"}
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
        return next((name for tensor in _tensors(values, 0) for name in _replaced(tensor)), None)


def _replaced(tensor: torch.Tensor) -> Iterator[str]:
    if type(tensor) is not torch.Tensor:
        for each in _CLASSES(type(tensor)):
            if each not in _OF_TORCH:
                yield from sorted(_TENSORS_NAMES.intersection(_NAMES(each)))
    yield from sorted(_TENSORS_NAMES.intersection(tensor.__dict__))


def _tensors(values: Iterable[object], depth: int) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value  # callers stop at an overridden name: below, only torch's own attributes are read
            if depth < _DEEPEST and _may_have_gradient(value):
                yield from _tensors([value.grad], depth + 1)
        elif depth < _DEEPEST:
            yield from _tensors(_parts(value), depth + 1)


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
