"""Helpers for the exercises on several processes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.checking.inputs import linear_layer, signed, uniform, with_old_gradients
from autograder.checking.labels import OF_PARAMETERS, Entries
from autograder.language import Text

Batch = tuple[Tensor, Tensor]

OF_RANKS = Entries(Text("rank {i}", "ранг {i}"), Text("ranks", "рангов"))
GRADIENTS = (OF_RANKS, OF_PARAMETERS)


class Shared(nn.Module):
    """A model with a tied weight, a frozen layer, a normalization in evaluation mode and a scale."""

    def __init__(self, rng: torch.Generator, outputs: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(uniform(rng))
        self.first = linear_layer(signed(rng, 3, 3) / 2)
        self.frozen = linear_layer(signed(rng, 3, 3) / 2).requires_grad_(False)
        self.norm = nn.BatchNorm1d(3, affine=False, dtype=torch.float64).eval()
        self.again = linear_layer(signed(rng, 3, 3) / 2, signed(rng, 3))
        self.again.weight = self.first.weight
        self.head = linear_layer(signed(rng, outputs, 3))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.head(self.again(self.norm(self.frozen(self.first(x)).tanh())).tanh())
        return self.scale * y


def affine(rng: torch.Generator, outputs: int = 1) -> nn.Module:
    """Return a linear layer with bias in float64, with gradients of an earlier pass."""
    return with_old_gradients(linear_layer(signed(rng, outputs, 3), signed(rng, outputs)))


def batch(rng: torch.Generator, size: int, outputs: int = 1) -> Batch:
    return signed(rng, size, 3), 3 * signed(rng, size, outputs)


def gradients(module: nn.Module) -> list[Tensor | None]:
    return [None if p.grad is None else p.grad.detach().clone() for p in module.parameters()]
