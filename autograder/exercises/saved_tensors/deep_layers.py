"""Helpers for exercises on lists of layers: cases, gradients, measurements."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.exercise import Case
from autograder.checking.inputs import leaf, signed, uniform
from autograder.measure import live_bytes

from .common import error_of_torch, nbytes


class _CountedTanh(torch.nn.Module):
    """A tanh layer that counts its calls.

    The layer saves one tensor, its result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        vars(self)["calls"] += 1  # ten times as fast as an assignment to an attribute of a module
        return x.tanh()


class Measurement(NamedTuple):
    """The measured memory and calls of a run through many layers.

    `kept` is the number of activations alive after the forward pass. `forward_peak`, `peak` and `left` are bytes: peak
    of the forward pass, peak of both passes, and what stays at the end. `calls` is the number of calls of the layer
    that is called most often, `pattern` the number of calls of each layer. `right` tells whether result and gradient
    are those of the layers.
    """

    kept: int
    forward_peak: int
    peak: int
    left: int
    calls: int
    pattern: list[int]
    right: bool


def measure_layers(run: Callable[[list[torch.nn.Module], Tensor], object], depth: int, x: Tensor) -> Measurement:
    """Measure memory and calls of `run(layers, x)` and of a backward pass from its result.

    `depth` is the number of layers. The gradient of `x` does not count as memory that stays.
    """
    layers, x = [_CountedTanh() for _ in range(depth)], x.detach().requires_grad_()
    truth = _run_through(depth, x)
    with live_bytes() as live:
        y = run(list(layers), x)
        kept, forward_peak = live.now_and_peak
        if isinstance(y, Tensor) and y.requires_grad:
            error_of_torch(y.sum().backward)
        right = all(isinstance(a, Tensor) and torch.allclose(a, b) for a, b in zip((y, x.grad), truth))
        del y
        x.grad = None
        if live.now:
            gc.collect(1)
    pattern = [layer.calls for layer in layers]
    return Measurement(round(kept / nbytes(x)), forward_peak, live.peak, live.now, max(pattern), pattern, right)


def _run_through(depth: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the result of `depth` layers and the gradient of its sum with respect to `x`."""
    y = x
    for _ in range(depth):
        y = y.tanh()
    (gradient,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), gradient


def layer_gradients(run: Callable[[list[torch.nn.Module], Tensor], object], case: Case) -> object:
    """Return a dict with the output of `run(layers, x)` and the gradients of input and layers.

    If torch raises, return the error's text instead.
    """
    torch.manual_seed(0)  # layers may draw random numbers, as dropout does
    y = run(list(case.layers), case.x)
    if isinstance(y, Tensor) and y.requires_grad:
        _ = call_with_other_numbers(y, run, list(case.layers), case.x)
        raised = error_of_torch((y * case.v).sum().backward)
        if raised:
            return raised
    found: dict[str, object] = {"output": y, "x.grad": case.x.grad}
    for index, layer in enumerate(case.layers):
        for name, weight in layer.named_parameters():
            found[f"layers[{index}].{name}.grad"] = weight.grad
    return found


class Layer(torch.nn.Module):
    """A layer with one weight matrix and tanh."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight).tanh()


class Dropping(torch.nn.Module):
    """A layer that drops entries at random in training, like dropout.

    The random numbers are the same on every machine; those of `Dropout` are not.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x * (torch.rand(x.shape, dtype=torch.float64) < 0.7) if self.training else x


def _random_layers(rng: torch.Generator, count: int, width: int, dtype: torch.dtype) -> list[torch.nn.Module]:
    return [Layer(weight) for weight in (signed(rng, count, width, width) / width).to(dtype)]


@functools.cache
def _shown_layers(depth: int) -> list[torch.nn.Module]:
    """Return `depth` layers for the display of a case. The probe measures with layers of its own."""
    return [torch.nn.Tanh() for _ in range(depth)]


def layered_cases(rng: torch.Generator, depths: tuple[int, ...], dropping: bool = False) -> Iterator[Case]:
    """Yield cases with a list of layers.

    First come small networks with a vector `v`, on which gradients are observed. If `dropping` is true, one of them has
    a layer that draws random numbers. Networks of the given `depths` follow, without `v`: on these the probe counts
    calls and memory.
    """
    for count, width, dtype, tracked in ((5, 3, torch.float64, True), (4, 5, torch.float32, False)):
        x = uniform(rng, 6, width).to(dtype).requires_grad_(tracked)
        layers = _random_layers(rng, count, width, dtype)
        if dropping and not tracked:
            layers.insert(2, Dropping())
        yield Case(layers=layers, x=x, v=signed(rng, 6, width).to(dtype))
    for depth in depths:
        yield Case(layers=list(_shown_layers(depth)), x=leaf(rng, 10, 20), v=None)
