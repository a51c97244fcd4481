"""Bytes of graphs whose floats are saved in half precision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.measure import graph_nodes, tensors

from .common import Function, gradient, nbytes


def is_wide(t: Tensor) -> bool:
    return t.dtype in (torch.float32, torch.float64)


def bytes_in_half(f: Function, x: Tensor, known: Sequence[Tensor]) -> tuple[int, object]:
    """Return the bytes that `f(x)` needs if floats are saved in two bytes each, and the exact gradient.

    The result and the saved tensors count. A saved tensor that holds no floats does not count if it shares a storage
    with a tensor in `known`.
    """
    skipped = {tensor.untyped_storage().data_ptr() for tensor in known}
    total = 0

    def count(t: Tensor) -> Tensor:
        nonlocal total
        floats = t.dtype in (torch.float32, torch.float64)
        if floats or t.untyped_storage().data_ptr() not in skipped:
            total += t.numel() * 2 if floats else nbytes(t)
        return t.clone()

    with saved_tensors_hooks(count, lambda t: t):
        y = f(x)
    return total + nbytes(y), gradient(y, x)


def bytes_of_copies(y: object, constants: Sequence[Tensor]) -> int:
    """Return the bytes of `constants` that the graph of `y` keeps as copies.

    A copy may lie outside of torch's memory, where no measurement of torch's allocator sees it. Returns 0 if the
    answer's hooks give no tensors back.
    """
    if not isinstance(y, Tensor):
        return 0
    there = {t.untyped_storage().data_ptr() for t in constants}
    copies = 0
    for node in graph_nodes(y):
        for name in dir(node):
            for t in _saved_in(node, name):
                is_one = any(t.dtype == c.dtype and not is_wide(c) and torch.equal(t, c) for c in constants)
                copies += nbytes(t) if is_one and t.untyped_storage().data_ptr() not in there else 0
    return copies


def _saved_in(node: object, name: str) -> list[Tensor]:
    try:
        return tensors(getattr(node, name)) if name.startswith("_saved_") else []
    except Exception:  # the answer's `unpack` raised, or gave no tensor back
        return []
