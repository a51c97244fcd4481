"""Refusal of what hides operations while those of torch are counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_OF_TORCH = frozenset(torch._C._dispatch_get_all_op_names())  # at import, before a learner's code can define any

_NONE = torch.Tensor.__torch_dispatch__  # also that of `Parameter`


class CalledOwnOperator(RuntimeError):
    """An error: code has hidden operations of torch while they are counted.

    A dispatch mode is off inside a custom operator and inside `__torch_dispatch__`. It sees none of the operations
    there.
    """

    def __init__(self) -> None:
        super().__init__("what a custom operator or a `__torch_dispatch__` calls cannot be seen: use none in the block")


def has_own_dispatch(classes: Iterable[type]) -> bool:
    """Return whether one of the classes that a mode is told has a `__torch_dispatch__` of its own."""
    return any(type.__getattribute__(each, "__torch_dispatch__") is not _NONE for each in classes)


@contextmanager
def without_own_operators() -> Iterator[Callable[[Any, Iterable[type]], None]]:
    """Yield a function that a dispatch mode calls with each operation and the classes that it is told.

    Raises CalledOwnOperator at the end of the `with` block if one of them ran other code than torch's.
    """
    called = itertools.count()

    def note(operation: Any, classes: Iterable[type]) -> None:
        if operation.name() not in _OF_TORCH or has_own_dispatch(classes):
            next(called)

    yield note
    if next(called):
        raise CalledOwnOperator
