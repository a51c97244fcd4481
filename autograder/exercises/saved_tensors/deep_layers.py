"""Helpers for exercises on lists of layers: cases, gradients, measurements."""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.counted_run import condense
from autograder.checking.exercise import Case
from autograder.checking.inputs import leaf, signed, uniform
from autograder.measure import counting_ops, live_bytes, tensors

from .common import error_of_torch, nbytes


class _CountedLayer(torch.nn.Module):
    """A layer that computes tanh(x + shift) and counts its calls.

    The layer saves one tensor, its result. Code that holds the layer can make the count larger, but not smaller.
    """

    def __init__(self, shift: float, calls: Iterator[int]) -> None:
        super().__init__()

        def forward(x: Tensor) -> Tensor:
            next(calls)
            return x.add(shift).tanh_()  # in place, so that the sum needs no memory of its own

        self.forward = forward


class Measurement(NamedTuple):
    """The measured memory and calls of a run through many layers.

    `kept` is the number of activations alive after the forward pass. `forward_peak`, `peak` and `left` are bytes: peak
    of the forward pass, peak of both passes, and what stays at the end. `calls` is the number of calls of the layer
    that is called most often, or more if many operations ran: an answer may compute a layer without a call of it.
    `pattern` is the number of calls of each layer, `found` the condensed result and gradient.
    """

    kept: int
    forward_peak: int
    peak: int
    left: int
    calls: int
    pattern: list[int]
    found: object


_OPERATIONS = 4  # more than a layer needs in a forward or backward pass


def measure_layers(run: Callable[[list[torch.nn.Module], Tensor], object], case: Case, depth: int) -> Measurement:
    """Measure memory and calls of `run(layers, x)` and of a backward pass from its result.

    `depth` is the number of layers. The gradient of `x` does not count as memory that stays.
    """
    x, counters = case.x.detach().requires_grad_(), [itertools.count() for _ in range(depth)]
    layers: list[torch.nn.Module] = [_CountedLayer(*each) for each in zip(case.shifts, counters)]
    with live_bytes() as live, counting_ops() as ops:
        y = run(layers, x)
        kept, forward_peak = live.now_and_peak
        if isinstance(y, Tensor) and y.requires_grad:
            error_of_torch(y.sum().backward)
        peak, found = live.peak, condense([y, x.grad])
        own = sum(map(nbytes, tensors(found)))
        del y
        x.grad = None
        if live.now > own:
            gc.collect(1)
        left = live.now - own
    pattern = [next(counter) for counter in counters]
    calls = max(*pattern, ops.times // (_OPERATIONS * depth))
    return Measurement(round(kept / nbytes(x)), forward_peak, peak, left, calls, pattern, found)


def in_many_layers(
    run: Callable[[list[torch.nn.Module], Tensor], Tensor], rng: torch.Generator, *, depth: int, runs: int, calls: int
) -> object:
    """Return results of 1 MB and gradients of runs through `depth` layers.

    All results are kept before the backward passes. Last comes whether an answer that calls each layer at most `calls`
    times on small inputs does so here, too: else it is lean in the one run, and saves calls in the other.
    """
    few = _most_calls(run, signed(rng, 10, 20).requires_grad_(), depth) <= calls
    inputs = [signed(rng, 128, 1024).requires_grad_() for _ in range(runs)]
    shifts = (signed(rng, depth) / 20).tolist()
    counters = [itertools.count() for _ in range(depth)]
    layers: list[torch.nn.Module] = [_CountedLayer(*each) for each in zip(shifts, counters)]
    results = [run(layers, x) for x in inputs]
    found = condense(results)
    while results:
        results.pop(0).sum().backward()
    return [found, [x.grad for x in inputs], few == (max(map(next, counters)) <= calls * runs)]


def _most_calls(run: Callable[[list[torch.nn.Module], Tensor], Tensor], x: Tensor, depth: int) -> int:
    """Return the number of calls of the layer that forward and backward pass of `run` call most often."""
    counters = [itertools.count() for _ in range(depth)]
    run([_CountedLayer(0.0, each) for each in counters], x).sum().backward()
    return max(map(next, counters))


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
    a layer that draws random numbers. Networks of the given `depths` follow, without `v`, and with a number for each
    layer: on these the probe counts calls and memory.
    """
    for count, width, dtype, tracked in ((5, 3, torch.float64, True), (4, 5, torch.float32, False)):
        x = uniform(rng, 6, width).to(dtype).requires_grad_(tracked)
        layers = _random_layers(rng, count, width, dtype)
        if dropping and not tracked:
            layers.insert(2, Dropping())
        yield Case(layers=layers, x=x, v=signed(rng, 6, width).to(dtype))
    for depth in depths:
        shifts = (signed(rng, depth) / 20).tolist()
        yield Case(layers=list(_shown_layers(depth)), x=leaf(rng, 10, 20), v=None, shifts=shifts)
