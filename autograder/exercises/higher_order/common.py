"""Helpers for the exercises on higher derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from autograder.checking.counted_run import Product, recording_products
from autograder.checking.exercise import Aspect, aspect
from autograder.checking.inputs import linear_layer, signed
from autograder.measure import CountedCalls, counting_backward_runs


def untouched(points: float, after: tuple[str, ...] | None = None) -> Aspect:
    """Return the aspect that an answer leaves a module as it was."""
    return aspect(
        "untouched",
        points,
        en="The module is left as it was: weights, buffers, `.grad`, `requires_grad` and mode.",
        ru="Модуль остаётся прежним: веса, буферы, `.grad`, `requires_grad` и режим.",
        after=after,
    )


def linear(rng: torch.Generator, inputs: int, outputs: int) -> torch.nn.Linear:
    """Return a random linear layer in float64."""
    return linear_layer(signed(rng, outputs, inputs) / inputs**0.5, signed(rng, outputs) / 4)


def tanh_net(rng: torch.Generator, inputs: int, hidden: int, outputs: int = 1) -> torch.nn.Sequential:
    return torch.nn.Sequential(linear(rng, inputs, hidden), torch.nn.Tanh(), linear(rng, hidden, outputs))


@dataclass(frozen=True)
class State:
    """Copies of a module's state, and its parameters themselves."""

    parameters: dict[str, torch.nn.Parameter]
    values: dict[str, list[Tensor | None]]
    flags: dict[str, list[bool]]


def state_of(module: torch.nn.Module) -> State:
    """Return what an answer must not change in a module."""
    parameters = dict(module.named_parameters())
    found: dict[str, list[Any]] = {
        "weights": list(parameters.values()),
        "buffers": list(module.buffers()),
        ".grad": [p.grad for p in parameters.values()],
    }
    values = {name: [None if t is None else t.detach().clone() for t in each] for name, each in found.items()}
    requires_grad = [p.requires_grad for p in parameters.values()]
    return State(parameters, values, {"requires_grad": requires_grad, "mode": [m.training for m in module.modules()]})


def is_as_before(module: torch.nn.Module, before: State) -> dict[str, bool]:
    """Return for each part of a module's state whether it has stayed the same.

    A tensor in the place of a parameter counts as changed weights, even if it has the same numbers.
    """
    there = {name: id(p) for name, p in module.named_parameters()}
    if there != {name: id(p) for name, p in before.parameters.items()}:
        return {"weights unchanged": False}
    now = state_of(module)
    unchanged = {name: all(map(_same, was, now.values[name])) for name, was in before.values.items()}
    unchanged |= {name: was == now.flags[name] for name, was in before.flags.items()}
    return {f"{name} unchanged": same for name, same in unchanged.items()}


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and torch.equal(a, b)


def release(module: torch.nn.Module) -> None:
    """Set every `.grad` to None.

    A `.grad` with a graph keeps this graph, and itself, in memory for ever.
    """
    for parameter in module.parameters():
        parameter.grad = None


class Passes:
    """Calls of a module and backward passes in a `with` block.

    `total` is the number of both, or more if more products ran: a walk along the nodes by hand is no pass.
    """

    calls = runs = total = 0


@contextmanager
def count_passes(module: torch.nn.Module, x: Tensor | None = None) -> Iterator[Passes]:
    """Count calls of `module` and backward passes in the `with` block; yield a `Passes`.

    The numbers are known when the block ends. Calls of any module of this class count, and direct calls of `forward`.
    If there is an input `x`, products count, too: outside of backward passes a call has those of `module(x)`, and no
    call or pass needs more than twice as many.
    """
    passes, calls, of_one_call = Passes(), CountedCalls(type(module).forward), list[Product]()
    recording: AbstractContextManager[list[Product]] = nullcontext([])
    if x is not None:
        with recording_products() as of_one_call:
            module(x)
        recording = recording_products()
    with patch.object(type(module), "forward", calls.function), counting_backward_runs() as runs, recording as products:
        yield passes
    passes.calls, passes.runs, unit = calls.times, runs.times, len(of_one_call) or 1
    by_layers = sum(not product.in_backward for product in products) // unit
    passes.total = max(max(calls.times, by_layers) + runs.times, len(products) // (2 * unit))


def gradients_of(value: object, inputs: list[Tensor]) -> list[Tensor] | None:
    """Return the gradient of a scalar for each of `inputs`, zeros where it does not depend on one.

    Returns None if `value` has no graph.
    """
    if not isinstance(value, Tensor) or not value.requires_grad or value.numel() != 1:
        return None
    return list(torch.autograd.grad(value.sum(), inputs, materialize_grads=True))


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])
