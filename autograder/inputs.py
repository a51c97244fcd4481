"""Inputs of cases, drawn so that nothing coincides: float64, far from 0, from the case's own generator."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Formula:
    """A function of tensors that reads as its formula on a card."""

    def __init__(self, text: str, function: Callable[..., Tensor]) -> None:
        self.text = text
        self.function = function

    def __call__(self, *arguments: Tensor) -> Tensor:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return self.text


def uniform(rng: torch.Generator, *shape: int) -> Tensor:
    """Float64, uniform in [0.5, 2.5): far from 0, so that a forgotten term shows in every entry."""
    return torch.rand(shape, generator=rng, dtype=torch.float64) * 2 + 0.5


def signed(rng: torch.Generator, *shape: int) -> Tensor:
    """Float64, magnitude uniform in [0.5, 2.5), sign at random."""
    sign = torch.randint(0, 2, shape, generator=rng) * 2 - 1
    return uniform(rng, *shape) * sign


def leaf(rng: torch.Generator, *shape: int) -> Tensor:
    """A float64 leaf that requires grad, its `.grad` empty."""
    return uniform(rng, *shape).requires_grad_()


def with_old_gradient(tensor: Tensor) -> Tensor:
    """`tensor` with something in `.grad`, no two entries of it equal, as after an earlier backward pass."""
    tensor.grad = 100 + tensor.detach()
    return tensor
