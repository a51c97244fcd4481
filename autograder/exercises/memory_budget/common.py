"""Helpers for exercises on policies: networks, counted products, kept bytes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import Caught
from autograder.checking.counted_run import Product, condense, recording_products
from autograder.checking.inputs import linear_layer, signed
from autograder.measure import live_bytes

Network = Callable[[Tensor], Tensor]
Function = Callable[[Tensor], object]

MARGIN = 256  # bytes that an answer may keep beside tensors


@dataclass(frozen=True)
class Run:
    """A measured run of forward and backward pass.

    `kept` are the bytes alive after the forward pass, the result not counted. `forward` and `backward` are the products
    that ran in each pass. `found` holds the result and the gradients.
    """

    kept: int
    forward: list[Product]
    backward: list[Product]
    found: dict[str, object]


def measure(run: Function, network: Network, x: Tensor) -> Run:
    """Measure `run(x)`, which stands for `network(x)`, and a backward pass from its result."""
    _seed(0)
    with live_bytes() as live:
        with recording_products() as forward:
            y = run(x)
        kept = live.now - (y.untyped_storage().nbytes() if isinstance(y, Tensor) else 0)
        with recording_products() as backward:
            found = _gradients_of(y, network, x)
    return Run(kept, forward, backward, found)


def four_results(run: Callable[[Tensor], Tensor], rng: torch.Generator, rows: int = 4096) -> object:
    """Return the results of four calls on `rows` x 64 numbers, and gradients.

    All graphs are kept until the first backward pass.
    """
    inputs, found = [signed(rng, rows, 64).requires_grad_() for _ in range(4)], []
    _seed(0)
    results = [run(x) for x in inputs]
    for x in inputs:
        y = results.pop(0)
        found.append(condense([y, torch.autograd.grad(y.sum(), x)]))
        del y
        gc.collect()  # what a reference cycle of Python objects keeps is not kept for long
    return found


def in_two_calls(run: Function, network: Network, x: Tensor) -> dict[str, object]:
    """Call `run` twice before the first backward pass; return the result of each call, and one gradient.

    What an answer keeps outside of a call is then that of the other call. The gradient is that of `x`, or of the last
    parameter if `x` requires none.
    """
    other = (x.detach() / 2).requires_grad_(x.requires_grad)
    _seed(0)
    first = run(x)
    _seed(1)
    second = run(other)
    return {
        "first of two calls": _gradients_of(first, network, x, last=1),
        "second of two calls": _gradients_of(second, network, other, last=1),
    }


def _seed(seed: int) -> None:
    """Put torch's random state where no seed alone puts it."""
    torch.manual_seed(seed)
    torch.rand(3)


def _gradients_of(y: object, network: Network, x: Tensor, last: int = 0) -> dict[str, object]:
    """Return a result and the gradients of its weighted sum, or torch's error in their place.

    Leaves that require no gradient are left out. If `last` is not 0, only so many leaves at the end are asked for.
    """
    if not isinstance(y, Tensor) or not y.requires_grad:
        return {"result": y, "gradients": None}
    leaves = {**dict(network.named_parameters()), "x": x} if isinstance(network, nn.Module) else {"x": x}
    wanted = dict([(name, leaf) for name, leaf in leaves.items() if leaf.requires_grad][-last:])
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)
    gradients: object
    try:
        found = torch.autograd.grad((y * weights).sum(), [*wanted.values()], allow_unused=True)
        gradients = dict(zip(wanted, found))
    except RuntimeError as error:
        gradients = Caught.of(error, type(error).__name__)
    return {"result": y.detach(), "gradients": gradients}


class Mixed(nn.Module):
    """Attention over rows, between two linear layers.

    In training it draws dropout from torch's own random state.
    """

    def __init__(self, rng: torch.Generator, width: int) -> None:
        super().__init__()
        self.first = linear_layer(signed(rng, width, width) / width)
        self.last = linear_layer(signed(rng, width, width) / width, signed(rng, width))

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).sin()
        weights = torch.softmax(h @ h.transpose(-1, -2), -1).square()
        keep = torch.rand(x.shape, dtype=x.dtype) < 0.8 if self.training else 1
        return torch.tanh(self.last((weights @ h).exp() * keep)).sigmoid()


def chain(rng: torch.Generator, widths: list[int], *between: nn.Module) -> nn.Sequential:
    """Return linear layers with a bias between `widths`, and the modules `between` behind each of them."""
    layers: list[nn.Module] = []
    for narrow, wide in pairwise(widths):
        layers += [linear_layer(signed(rng, wide, narrow) / narrow, signed(rng, wide)), *between]
    return nn.Sequential(*layers)
