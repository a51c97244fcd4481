"""Lists of layers as inputs, with their gradients, calls and memory."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from autograder.checking.exercise import Case
from autograder.checking.inputs import leaf, signed, uniform
from autograder.measure import live_bytes

from .common import error_of_torch, nbytes

Layers = list[torch.nn.Module]


class _CountedTanh(torch.nn.Module):
    """A layer that counts its calls and saves one tensor, its result."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.tanh()


class Measurement(NamedTuple):
    """The memory and the calls of a run through deep layers.

    `kept` counts the activations alive after the forward pass. `left` are the bytes that stay at the end. `calls`
    is the maximum over the layers.
    """

    kept: int
    forward_peak: int
    peak: int
    left: int
    calls: int


def measure_layers(run: Callable[[list[torch.nn.Module], Tensor], object], depth: int, x: Tensor) -> Measurement:
    """Run `depth` layers forward and backward on a fresh `x`, and measure the run.

    The gradient of `x` does not count as left.
    """
    layers, x = [_CountedTanh() for _ in range(depth)], x.detach().requires_grad_()
    with live_bytes() as live:
        y = run(list(layers), x)
        kept, forward_peak = live.now, live.peak
        if isinstance(y, Tensor) and y.requires_grad:
            error_of_torch(y.sum().backward)
        del y
        x.grad = None
        if live.now:
            gc.collect(1)
    calls = max(layer.calls for layer in layers)
    return Measurement(round(kept / nbytes(x)), forward_peak, live.peak, live.now, calls)


def layer_gradients(run: Callable[[list[torch.nn.Module], Tensor], object], case: Case) -> object:
    """Return the output and the gradients of the input and of the layers, or the error of torch."""
    y = run(list(case.layers), case.x)
    if isinstance(y, Tensor) and y.requires_grad:
        raised = error_of_torch((y * case.v).sum().backward)
        if raised:
            return raised
    found: dict[str, object] = {"output": y, "x.grad": case.x.grad}
    for index, layer in enumerate(case.layers):
        found[f"layers[{index}].weight.grad"] = layer.weight.grad
    return found


class Layer(torch.nn.Module):
    """A layer with one weight."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight).tanh()


def _random_layers(rng: torch.Generator, count: int, width: int, dtype: torch.dtype) -> list[torch.nn.Module]:
    return [Layer(weight) for weight in (signed(rng, count, width, width) / width).to(dtype)]


@functools.cache
def _shown_layers(depth: int) -> list[torch.nn.Module]:
    """Return layers for a case to show. The probe measures on other ones."""
    return [torch.nn.Tanh() for _ in range(depth)]


def layered_cases(rng: torch.Generator, depths: tuple[int, int]) -> Iterator[Case]:
    """Yield small networks with a `v`, for gradients, and deep ones without, for calls and memory."""
    for count, width, dtype, tracked in ((5, 3, torch.float64, True), (4, 5, torch.float32, False)):
        x = uniform(rng, 6, width).to(dtype).requires_grad_(tracked)
        yield Case(layers=_random_layers(rng, count, width, dtype), x=x, v=signed(rng, 6, width).to(dtype))
    for depth in depths:
        yield Case(layers=list(_shown_layers(depth)), x=leaf(rng, 10, 20), v=None)


def checkpoint_segments(layers: Layers, x: Tensor, size: int) -> Tensor:
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x
