"""Every `.grad` as it was before a backward pass, whoever holds the tensor."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from .looking import safely, unnoticed


def live_tensors() -> list[torch.Tensor]:
    """Every tensor that somebody holds in Python. Types are asked, not objects: `isinstance` would run their code."""
    return [item for item in gc.get_objects() if issubclass(type(item), torch.Tensor)]


def may_get_grad(tensor: torch.Tensor) -> bool:
    """Also true of what a nested pass may reach and a graph does not show."""
    return safely(lambda: tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad)) or False


@contextmanager
def every_grad_put_back(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """The engine adds to copies: the learner's own `.grad`, the same object in the same version, comes back."""
    before = []
    with unnoticed():
        for tensor in tensors:
            before.append((tensor, tensor.grad))
            if tensor.grad is not None:
                tensor.grad = tensor.grad.detach().clone()
    try:
        yield
    finally:
        with unnoticed():
            for tensor, grad in before:
                safely(lambda tensor=tensor, grad=grad: setattr(tensor, "grad", grad))  # type: ignore[misc]
