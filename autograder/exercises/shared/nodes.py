"""Recorded values, whose rules compute with plain tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .random_programs import Shape

Rule = Callable[[Tensor], tuple[Tensor, ...]]


class Node:
    """A leaf, or a result with its inputs and its rule.

    The rule makes one gradient for each input, in the input's shape. It holds its inputs, as a rule in the lesson does.
    """

    def __init__(self, data: Tensor, inputs: tuple[Node, ...] = (), rule: Rule | None = None) -> None:
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad: Tensor | None = None
        self.hooks: list[Callable[[Tensor], Tensor | None]] = []

    def _made(self, data: Tensor, inputs: tuple[Node, ...], *parts: Callable[[Tensor], Tensor]) -> Node:
        def rule(gradient: Tensor) -> tuple[Tensor, ...]:
            return tuple(part(gradient).sum_to_size(each.data.shape) for part, each in zip(parts, inputs))

        return Node(data, inputs, rule)

    def __add__(self, other: Node) -> Node:
        return self._made(self.data + other.data, (self, other), lambda g: g, lambda g: g)

    def __mul__(self, other: Node) -> Node:
        return self._made(self.data * other.data, (self, other), lambda g: g * other.data, lambda g: g * self.data)

    def __matmul__(self, other: Node) -> Node:
        parts = (lambda g: g @ other.data.t()), (lambda g: self.data.t() @ g)
        return self._made(self.data @ other.data, (self, other), *parts)

    def t(self) -> Node:
        return self._made(self.data.t(), (self,), lambda g: g.t())

    def sum(self) -> Node:
        return self._made(self.data.sum(), (self,), lambda g: g.expand(self.data.shape))

    def exp(self) -> Node:
        out = self.data.exp()
        return self._made(out, (self,), lambda g: g * out)

    def tanh(self) -> Node:
        out = self.data.tanh()
        return self._made(out, (self,), lambda g: g * (1 - out * out))

    def reshape(self, shape: Shape) -> Node:
        return self._made(self.data.reshape(shape), (self,), lambda g: g.reshape(self.data.shape))

    def expand(self, shape: Shape) -> Node:
        return self._made(self.data.expand(shape), (self,), lambda g: g)


def chain(start: float, length: int, doubles: bool) -> tuple[Node, Node]:
    """Return a leaf, and the end of a chain of `length` additions or doublings."""
    leaf = Node(torch.tensor(1 + start, dtype=torch.float64))
    value = leaf * leaf
    for number in range(length):
        value = doubled(value, leaf, number) if doubles else value + leaf
    return leaf, value


def doubled(value: Any, leaf: Any, number: int) -> Any:
    """Return a sum that uses `value` in two operations. They change places with every `number`.

    A walk that does not wait for both then comes too early every other time, in whichever order it goes.
    """
    once = value + leaf
    return value + once if number % 2 else once + value


def gradients(leaves: list[Node]) -> list[Any]:
    return [leaf.grad for leaf in leaves]
