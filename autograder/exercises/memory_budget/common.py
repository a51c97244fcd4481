"""Helpers for exercises on policies: networks, counted products, kept bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from autograder.checking.containment.caught import Caught
from autograder.checking.counted_run import Product, recording_products
from autograder.checking.inputs import linear_layer, signed
from autograder.measure import live_bytes, tensors

Network = Callable[[Tensor], Tensor]

MARGIN = 256  # bytes that an answer may keep beside tensors


@dataclass(frozen=True)
class Run:
    """A measured run of forward and backward pass.

    `kept` are the bytes alive after the forward pass, the result not counted. `forward` and `backward` are the products
    that ran in each pass. `right` tells whether result and gradients are the network's.
    """

    kept: int
    forward: list[Product]
    backward: list[Product]
    right: bool


def measure(run: Callable[[], object], network: Network, x: Tensor) -> Run:
    """Measure `run()`, which stands for `network(x)`, and a backward pass from its result."""
    truth = gradients(lambda: network(x), network, x)
    _seed()
    with live_bytes() as live:
        with recording_products() as forward:
            y = run()
        kept = live.now - (y.untyped_storage().nbytes() if isinstance(y, Tensor) else 0)
        with recording_products() as backward:
            found = _gradients_of(y, network, x)
    return Run(kept, forward, backward, agree(found, truth))


def measure_plain(network: Network, x: Tensor) -> Run:
    """Measure a run of the network without a checkpoint."""
    return measure(lambda: network(x), network, x)


def gradients(run: Callable[[], object], network: Network, x: Tensor) -> dict[str, object] | Caught:
    """Return the result of `run()` and the gradients of its weighted sum, or torch's error.

    Leaves that require no gradient are left out.
    """
    _seed()
    return _gradients_of(run(), network, x)


def _seed() -> None:
    """Put torch's random state where no seed alone puts it."""
    torch.manual_seed(0)
    torch.rand(3)


def _gradients_of(y: object, network: Network, x: Tensor) -> dict[str, object] | Caught:
    leaves = [*network.parameters(), x] if isinstance(network, nn.Module) else [x]
    if not isinstance(y, Tensor) or not y.requires_grad:
        return {"result": y, "gradients": None}
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        found = torch.autograd.grad((y * weights).sum(), wanted, allow_unused=True)
    except RuntimeError as error:
        return Caught.of(error, type(error).__name__)
    return {"result": y.detach(), "gradients": list(found)}


def agree(found: object, truth: object) -> bool:
    """Return whether the tensors in `found` equal those in `truth` up to rounding."""
    mine, right = tensors(found), tensors(truth)
    return len(mine) == len(right) and all(
        a.device == b.device and a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b)
        for a, b in zip(mine, right)
    )


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
