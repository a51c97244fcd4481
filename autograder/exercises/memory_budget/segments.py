"""Segments of a program, and the values on which they run."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ..shared.nodes import Node

_COUNTED: list[list[weakref.ref[Any]]] = []  # the results made so far, for each `with results_counted()` block


class _Fixed(type):
    """The class of a class whose attributes an answer cannot set."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be set")


class Recorded(Node, metaclass=_Fixed):
    """A value made as in the lesson's engine, with a walk."""

    def __init__(self, data: Tensor, inputs: tuple[Any, ...] = (), rule: Any = None, op: str = "") -> None:
        super().__init__(data, tuple(inputs), rule)
        if inputs:
            for made in _COUNTED:
                made.append(weakref.ref(self))

    def _made(self, data: Tensor, inputs: tuple[Any, ...], *parts: Callable[[Tensor], Tensor]) -> Recorded:
        def rule(gradient: Tensor) -> tuple[Tensor, ...]:
            return tuple(part(gradient).sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

        return Recorded(data, inputs, rule)

    def backward(self) -> None:
        waits: dict[Any, int] = {self: 0}
        found: list[Any] = [self]
        for value in found:  # grows while it is walked
            for each in value.inputs:
                if each not in waits:
                    found.append(each)
                waits[each] = waits.get(each, 0) + 1
        arrived: dict[Any, Any] = {self: torch.ones_like(self.data)}
        ready: list[Any] = [self]
        while ready:
            value = ready.pop()
            gradient = arrived.pop(value)
            if value.rule is None:
                value.grad = gradient.clone() if value.grad is None else value.grad + gradient
                continue
            for each, part in zip(value.inputs, value.rule(gradient)):
                arrived[each] = arrived[each] + part if each in arrived else part
                waits[each] -= 1
                if waits[each] == 0:
                    ready.append(each)


@contextmanager
def results_counted() -> Iterator[Callable[[], int]]:
    """Yield a function that counts the results of the `with` block in memory, without leaves."""
    made: list[weakref.ref[Any]] = []

    def alive() -> int:
        gc.collect()  # a cycle of Python's is not kept
        return sum(each() is not None for each in made)

    _COUNTED.append(made)
    try:
        yield alive
    finally:
        _COUNTED.remove(made)


def one_input(x: Any) -> Any:
    return (x.tanh() * x).tanh() + x


def two_inputs(x: Any, w: Any) -> Any:
    return ((x @ w).tanh() @ w).tanh()


def one_unused(x: Any, w: Any, unused: Any) -> Any:
    return (x @ w).tanh() * (x @ w)
