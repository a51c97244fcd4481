"""Helpers for exercises on policies: networks, counted products, kept bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.containment.caught import Caught
from autograder.checking.inputs import linear_layer, signed
from autograder.measure import live_bytes, tensors

Network = Callable[[Tensor], Tensor]

_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm")
MARGIN = 256  # bytes that an answer may keep beside tensors


@dataclass
class Products:
    """The matrix products that ran, in order.

    `sizes` are the bytes of their results, `costs` their multiplications.
    """

    sizes: list[int] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)

    @property
    def times(self) -> int:
        """The number of products."""
        return len(self.sizes)


class _ProductsMode(TorchDispatchMode):
    """A dispatch mode that reports each matrix product to `note`.

    The arguments are the result and the inner size.
    """

    def __init__(self, note: Callable[[Tensor, int], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.note = note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func._schema.name in _PRODUCTS:
            self.note(result, tensors(args)[-1].shape[-2])
        return result


@contextmanager
def counting_products() -> Iterator[Products]:
    """Record the matrix products that run inside the `with` block; yield a `Products`."""
    products = Products()

    def note(result: Tensor, inner: int) -> None:
        products.sizes.append(result.untyped_storage().nbytes())
        products.costs.append(result.numel() * inner)

    with _ProductsMode(note):
        yield products


@dataclass(frozen=True)
class Run:
    """A measured run of forward and backward pass.

    `kept` are the bytes alive after the forward pass, the result not counted. `forward` and `backward` are the products
    that ran in each pass. `right` tells whether result and gradients are the network's.
    """

    kept: int
    forward: Products
    backward: Products
    right: bool


def measure(run: Callable[[], object], network: Network, x: Tensor) -> Run:
    """Measure `run()`, which stands for `network(x)`, and a backward pass from its result."""
    truth = gradients(lambda: network(x), network, x)
    torch.manual_seed(0)
    with live_bytes() as live:
        with counting_products() as forward:
            y = run()
        kept = live.now - (y.untyped_storage().nbytes() if isinstance(y, Tensor) else 0)
        with counting_products() as backward:
            found = _gradients_of(y, network, x)
    return Run(kept, forward, backward, agree(found, truth))


def measure_plain(network: Network, x: Tensor) -> Run:
    """Measure a run of the network without a checkpoint."""
    return measure(lambda: network(x), network, x)


def gradients(run: Callable[[], object], network: Network, x: Tensor) -> dict[str, object] | Caught:
    """Return the result of `run()` and the gradients of its weighted sum, or torch's error.

    Random numbers are those of seed 0. Leaves that require no gradient are left out.
    """
    torch.manual_seed(0)
    return _gradients_of(run(), network, x)


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
