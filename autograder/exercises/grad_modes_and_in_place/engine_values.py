"""Values of an engine that stops recording and counts edits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case
from autograder.checking.observe import unmarked

OPERATIONS: dict[str, Any] = {
    "+": torch.add,
    "*": torch.mul,
    "@": torch.matmul,
    "sum": torch.sum,
    "tanh": torch.tanh,
}


class Recorded:
    """A value as the engine's, whose class holds the switch."""

    recording = True

    def __init__(self, data: Tensor, inputs: Any = (), rule: Any = None, op: str = "") -> None:
        self.data, self.inputs, self.rule, self.op = data, inputs, rule, op
        self.grad, self.hooks = None, list[Any]()
        self.version = 0

    def add_(self, tensor: Tensor) -> None:
        self.data.add_(tensor)
        self.version += 1


class Engine:
    """Inputs of a case as values, and what is made of them."""

    def __init__(self, answer: Any, case: Case) -> None:
        self._record = unmarked(answer.stop_recording)
        self.Value: Any = type("Value", (Recorded,), {"recording": True})
        self._op = case.op
        self.inputs = [self.Value(each.data.clone()) for each in vars(case).values() if isinstance(each, Recorded)]

    def run(self, op: str, *inputs: Any) -> Any:
        return self._record(op, OPERATIONS[op](*(each.data for each in inputs)), *inputs)

    def result(self) -> Any:
        """Return the result of the case's operation on its inputs."""
        return self.run(self._op, *self.inputs)

    @contextmanager
    def off(self) -> Iterator[None]:
        self.Value.recording = False
        try:
            yield
        finally:
            self.Value.recording = True


def gradients(root: Any, of: list[Any]) -> list[object]:
    """Return the gradients of `root` by the values in `of`, None for a value that it does not depend on."""
    order, seen = list[Any](), set[int]()

    def visit(value: Any) -> None:
        if id(value) not in seen:
            seen.add(id(value))
            for each in value.inputs:
                visit(each)
            order.append(value)

    visit(root)
    found: dict[int, Any] = {id(root): torch.ones_like(root.data)}
    for value in reversed(order):
        parts = value.rule(found[id(value)]) if value.rule is not None else ()
        for each, part in zip(value.inputs, parts):
            found[id(each)] = found[id(each)] + part if id(each) in found else part
    return [found.get(id(each)) for each in of]
