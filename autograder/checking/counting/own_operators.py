"""Refusal of operators that are not torch's while its operations are counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_OF_TORCH = frozenset(torch._C._dispatch_get_all_op_names())  # at import, before a learner's code can define any


class CalledOwnOperator(RuntimeError):
    """An error: code has called a custom operator while operations are counted.

    A dispatch mode is off inside the operator, and sees none of the operations there.
    """

    def __init__(self) -> None:
        super().__init__("operations of torch are counted: call no custom operator in the block")


@contextmanager
def without_own_operators() -> Iterator[Callable[[Any], None]]:
    """Yield a function that a dispatch mode calls with each operation.

    Raises CalledOwnOperator at the end of the `with` block if one of them was a custom operator.
    """
    called = itertools.count()

    def note(operation: Any) -> None:
        if operation.name() not in _OF_TORCH:
            next(called)

    yield note
    if next(called):
        raise CalledOwnOperator
