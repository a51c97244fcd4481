"""A graph of doublings whose nodes count the reads of their edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.checking.values import AtMost

from .common import FLOAT64


class _Twice(torch.autograd.Function):
    """A custom Function that returns a + b.

    Its nodes have a class of their own. `_count_reads` can therefore change the attribute `next_functions` for these
    nodes alone.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return gradient, gradient


_reads: list[None] = []


def _count_reads() -> None:
    """Make every node of `_Twice` append to `_reads` at each read of its `next_functions`."""
    kind: Any = _Twice._backward_cls  # type: ignore[attr-defined]
    plain = kind.next_functions

    def counted(node: Any) -> Any:
        _reads.append(None)
        return plain.__get__(node)

    kind.next_functions = property(counted)


_count_reads()


_DOUBLINGS = 10


def measure_reads(walk: Callable[[Tensor], object], others: int) -> AtMost:
    """Return the number of reads of `next_functions` that a walk over a graph needs, with a limit.

    The graph has 10 nodes of doublings and 2047 paths from the result, and `others` nodes before them. A walk that
    remembers visited nodes reads each node once. The limit is 8 reads per doubling. `of` is what `walk` returned.
    """
    doubled = torch.ones((), dtype=FLOAT64, requires_grad=True)
    for _ in range(others):
        doubled = doubled.sin()
    for _ in range(_DOUBLINGS):
        doubled = _Twice.apply(doubled, doubled)  # type: ignore[no-untyped-call]
    _reads.clear()
    returned = walk(doubled)
    return AtMost(limit=8 * _DOUBLINGS, used=len(_reads), of=returned)
