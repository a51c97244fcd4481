"""A second memory, and functions that save large storages."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import linear

from autograder.checking.inputs import Formula


@dataclass(frozen=True)
class Moved:
    """Numbers of tensors that were moved, by kind.

    Parts of `x` and of parameters count as such, the other large ones as `large`.
    """

    small: int
    x: int
    parameters: int
    large: int


class OtherMemory:
    """A memory that torch's allocator does not count.

    Main memory is one for a GPU.
    """

    def __init__(self) -> None:
        self._copies: list[Tensor] = []

    def put(self, t: Tensor) -> int:
        """Copy a tensor into this memory, and return its number."""
        copy = torch.frombuffer(bytearray(t.nbytes), dtype=t.dtype).view(t.shape)
        self._copies.append(copy.copy_(t.detach()))
        return len(self._copies) - 1

    def get(self, number: int) -> Tensor:
        """Return a new tensor with the shape and entries of what got this number."""
        return self._copies[number].clone()

    def count(self, limit: int, held: Sequence[Tensor]) -> Moved:
        """Count the tensors in this memory. `held` is `x`, and then the parameters."""
        large = [copy for copy in self._copies if copy.nbytes >= limit]
        of_x, *of_parameters = (sum(_is_part(copy, tensor) for copy in large) for tensor in held)
        parts = sum(of_parameters)
        return Moved(len(self._copies) - len(large), of_x, parts, len(large) - of_x - parts)


def _is_part(copy: Tensor, tensor: Tensor) -> bool:
    """Return whether the last entries of a copy are those of a tensor."""
    return copy.dtype == tensor.dtype and bool((copy.flatten()[-3:] == tensor.detach().flatten()[-3:]).all())


def saved_storages(f: Callable[[Tensor], Tensor], x: Tensor, held: Sequence[Tensor]) -> list[int]:
    """Return the bytes of the different storages that `f(x)` saves, those of `held` left out."""
    saved = {each.untyped_storage().data_ptr(): each for each in held}

    def pack(t: Tensor) -> Tensor:
        saved.setdefault(t.untyped_storage().data_ptr(), t.detach())  # holds it, so that no address comes twice
        return t.detach()

    with saved_tensors_hooks(pack, lambda t: t):
        f(x)
    return [each.untyped_storage().nbytes() for each in [*saved.values()][len(held) :]]


class _PooledSine(torch.autograd.Function):
    """A sine whose result lies in memory of a pool.

    The memory is used again as soon as nobody holds the result. So a new storage has the address of a freed one in each
    run. With torch's allocator that is often so, but not always.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, pool: list[tuple[bytearray, Any]]) -> Tensor:
        ctx.save_for_backward(h)
        index = next((i for i, (_, last) in enumerate(pool) if last() is None), len(pool))
        memory = pool.pop(index)[0] if index < len(pool) else bytearray(h.nbytes)
        out = torch.frombuffer(memory, dtype=h.dtype).view(h.shape)
        pool.append((memory, weakref.ref(out.untyped_storage())))
        return torch.sin(h, out=out)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (h,) = ctx.saved_tensors
        return gradient * h.cos(), None


def chain(w: Tensor, b: Tensor) -> Formula:
    """Return a function that holds none of the large tensors that it saves, and saves some of them twice."""

    def f(x: Tensor) -> Tensor:
        pool: list[tuple[bytearray, Any]] = []
        h = x @ w + b
        h = h * torch.linspace(1, 2, h.numel(), dtype=h.dtype).view_as(h)  # a large factor that needs no gradient
        for _ in range(4):
            h = h.sin()
        for _ in range(4):
            h = _PooledSine.apply(h, pool)  # type: ignore[no-untyped-call]
        h = h.tanh()
        h = h * h.exp()
        h = h * h[:, :1]  # a small view of a large storage
        h = h[:8].exp()
        return (h * h.mean(0).sigmoid()).sum(1)

    text = (
        "h = x @ w + b; h = tanh(8 × sin(h * linspace(1, 2))); h = h * exp(h); h = exp((h * h[:, :1])[:8]); "
        "sum(h * sigmoid(mean(h)))"
    )
    return Formula(text, f)


def views(w: Tensor, b: Tensor) -> Formula:
    """Return a function that saves views of a parameter and of its own results, and holds these."""

    def f(x: Tensor) -> Tensor:
        first = linear(x, w[5:], b[5:]).T.exp()
        h = first.sin().tanh()
        return (h.T[3:] @ h[:, :7]).cos().sum(1)

    return Formula("h = tanh(sin(exp(linear(x, w[5:], b[5:]).T))); sum(cos(h.T[3:] @ h[:, :7]))", f)


def masked(w: Tensor, b: Tensor) -> Formula:
    """Return a function that saves the same large constant in each call."""
    mask = torch.linspace(1, 2, 20 * len(b), dtype=b.dtype).view(20, -1)

    def f(x: Tensor) -> Tensor:
        h = x @ w + b
        sine = h.sin()
        product = sine * mask  # all are held, so that no address comes twice
        return product.tanh().sum(1)

    return Formula("sum(tanh(sin(x @ w + b) * mask))", f)
