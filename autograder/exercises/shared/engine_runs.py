"""Observations of an engine while it differentiates a program.

`make` makes a leaf from a tensor, and `walk` makes a pass from a root. torch's own tensors have the methods that a
learner's values need, so the same functions observe both.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from autograder.checking.containment.caught import or_error
from autograder.checking.counted_run import condense
from autograder.checking.labels import Entries
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_ops

from .nodes import doubled
from .random_programs import Program

Make = Callable[[Tensor], Any]
Walk = Callable[..., object]

OF_PASSES = Entries(
    (
        Text("how many times a second pass adds the gradient", "сколько раз второй проход прибавляет градиент"),
        Text(
            "how many times a pass over another graph adds the gradient",
            "сколько раз проход по другому графу прибавляет градиент",
        ),
    ),
    Text("passes", "проходов"),
)
DOUBLINGS, LENGTH = 11, 5000
_MOST_OPERATIONS = 60 * DOUBLINGS
_USUAL_LIMIT = 1000
_DOUBLED, _TWICE_HOOKED = 3, 2  # a hook of every third value doubles the gradient, every second one has another hook


def torch_leaf(data: Tensor) -> Tensor:
    """Return a leaf of torch's own engine."""
    return data.clone().requires_grad_()


def backward(root: Any, **flags: bool) -> object:
    """Make a pass of an engine whose values have the method."""
    return root.backward(**flags)


def first_gradients(make: Make, program: Program, walk: Walk = backward) -> dict[str, object]:
    """Return what is in `.grad` after one pass.

    Also returns whether a gradient behind a root of two dimensions has its shape and dtype.
    """
    values = program.run(make)
    walk(values[-1])
    leaf = make(program.leaves[-1][:1].reshape(1, 1).clone())
    or_error(walk, leaf + leaf)
    found = _gradients(values, program)
    small = None if leaf.grad is None else leaf.grad.data
    return {
        "results without a gradient": all(each.grad is None for each in values[len(program.leaves) :]),
        "root with two dimensions": small is not None and small.shape == (1, 1),
        "gradients in float64": all(each.dtype == torch.float64 for each in (*found, small) if each is not None),
        "gradients": [None if each is None else each.double() for each in found],
    }


def accumulated(make: Make, program: Program, walk: Walk = backward) -> list[object]:
    """Return what further passes add, as multiples of the first gradient.

    One pass is over the same graph, one over another. Behind an error or a wrong number stands what is right.
    """
    values = program.run(make)
    walk(values[-1], retain_graph=True)
    first = _flat(values, program)
    found: list[object] = [or_error(_added, values, program, values[-1], first, walk)]
    if found == [1.0]:
        found.append(or_error(_added, values, program, _again(values, program), first, walk))
    return [*found, 1.0][:2]


def _added(values: list[Any], program: Program, root: Any, first: Tensor, walk: Walk) -> float | None:
    """Return the multiple of `first` that a pass from `root` adds to the leaves.

    Returns None if it adds something else.
    """
    before = _flat(values, program)
    walk(root)
    added = _flat(values, program) - before
    multiple = float(added @ first / (first @ first))
    return round(multiple, 4) + 0.0 if torch.allclose(added, multiple * first) else None


def _flat(values: list[Any], program: Program) -> Tensor:
    return torch.cat([each.flatten().double() for each in _gradients(values, program) if each is not None])


def _again(values: list[Any], program: Program) -> Any:
    """Return the root of another graph over the same leaves."""
    leaves = iter(values[: len(program.leaves)])
    return program.run(lambda _: next(leaves))[-1]


def hooked(make: Make, program: Program) -> dict[str, object]:
    """Return what a hook at each value is called with, and the gradients of the leaves.

    Some hooks double the gradient. The leaves take part in a second graph, too.
    """
    values = program.run(make)
    kinds: list[bool] = []
    calls: list[list[object]] = [[] for _ in values]

    def hook(number: int, doubles: bool) -> Callable[[Any], Any]:
        def note(gradient: Any) -> Any:
            kinds.append(isinstance(gradient, type(values[0])))
            calls[number].append(condense(data_of(gradient)))
            return gradient + gradient if doubles else None

        return note

    for number, value in enumerate(values):
        value.register_hook(hook(number, number % _DOUBLED == 0))
        if number % _TWICE_HOOKED == 0:
            value.register_hook(hook(number, False))
    values[-1].backward()
    _again(values, program).backward()
    return {
        "hooks get values": all(kinds),
        "calls of hooks": [len(each) for each in calls],
        "gradients in hooks": condense(_stacked(calls)),
        "gradients": [condense(each) for each in _gradients(values, program)],
    }


def _stacked(calls: list[list[object]]) -> object:
    found = [each for group in calls for each in group]
    return torch.stack(found) if found and all(isinstance(each, Tensor) for each in found) else found  # type: ignore[arg-type]


def second_gradients(make: Make, program: Program) -> list[object]:
    """Return the gradients of the sum of all squared gradients. No path counts as zeros.

    Each gradient is the sum of two passes.
    """
    values = program.run(make)
    for _ in range(2):
        values[-1].backward(create_graph=True)
    leaves = values[: len(program.leaves)]
    total = None
    for leaf in leaves:
        if leaf.grad is not None:
            squares = (leaf.grad * leaf.grad).sum()
            total = squares if total is None else total + squares
        leaf.grad = None
    total.backward()  # type: ignore[union-attr]
    return [
        condense(torch.zeros_like(data) if leaf.grad is None else data_of(leaf.grad))
        for leaf, data in zip(leaves, program.leaves)
    ]


def through_a_hook(make: Make, start: float) -> object:
    """Return a second derivative that goes through what a hook returned."""
    leaf = make(torch.tensor(1 + start, dtype=torch.float64))
    leaf.register_hook(lambda gradient: gradient * gradient)
    (leaf * leaf).backward(create_graph=True)
    gradient, leaf.grad = leaf.grad, None
    (gradient * gradient).backward(retain_graph=True)
    return None if leaf.grad is None else data_of(leaf.grad)


def constant_gradient(make: Make, program: Program) -> bool:
    """Return whether the gradient of `a` after a plain pass is a constant."""
    values = program.run(make)
    values[-1].backward()
    return _is_constant(values)


def constant_sum(make: Make, program: Program) -> bool:
    """Return whether the gradient of `a` after a recorded pass and a plain one is a constant.

    torch cannot be asked: it adds in place there, and the sum keeps the recorded history.
    """
    values = program.run(make)
    values[-1].backward(create_graph=True)
    _again(values, program).backward()
    return _is_constant(values)


def forgets_its_parts(make: Make, program: Program) -> bool:
    """Return whether the sum of two plain passes holds nothing of the first pass.

    A sum in values would be recorded, and would grow with each pass.
    """
    values = program.run(make)
    values[-1].backward()
    leaf = next(each for each in values if each.grad is not None)
    first = weakref.ref(leaf.grad.data)
    _again(values, program).backward()
    return first() is None or first() is leaf.grad.data


def _is_constant(values: list[Any]) -> bool:
    """Return whether the first gradient, `g`, is a constant.

    Then the gradient of `g * a` by `a` is `g`.
    """
    leaf = next(each for each in values if each.grad is not None)
    gradient, leaf.grad = leaf.grad, None
    (gradient * leaf).sum().backward()
    return torch.allclose(leaf.grad.data, gradient.data)


def deep_gradient(make: Make, start: float) -> object:
    """Return the gradient of a leaf behind a chain of 5,000 additions of it."""
    leaf = make(torch.tensor(1 + start, dtype=torch.float64))
    value = leaf * leaf
    for _ in range(LENGTH):
        value = value + leaf
    with usual_recursion():
        value.backward()
    return data_of(leaf.grad)


@contextmanager
def usual_recursion() -> Iterator[None]:
    """Keep Python's usual recursion limit inside the `with` block, whatever an answer asks for."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_USUAL_LIMIT)
    try:
        with patch.object(sys, "setrecursionlimit"):
            yield
    finally:
        sys.setrecursionlimit(before)


def work(make: Make, start: float) -> AtMost:
    """Return the torch operations of a pass over eleven doublings, where 2,048 paths lead to the leaf."""
    leaf = make(torch.tensor(1 + start, dtype=torch.float64))
    value = leaf * leaf
    for number in range(DOUBLINGS):
        value = doubled(value, leaf, number)
    with counting_ops() as ops:
        value.backward()
    return AtMost(limit=_MOST_OPERATIONS, used=ops.times, of=condense(data_of(leaf.grad)))


def _gradients(values: list[Any], program: Program) -> list[Tensor | None]:
    return [None if each.grad is None else data_of(each.grad) for each in values[: len(program.leaves)]]


def data_of(value: Any) -> Tensor:
    data: Tensor = value.data
    return data.detach().clone() if isinstance(data, Tensor) and data.requires_grad else data
