"""Models with a frozen base and trained adapters."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.checking.inputs import signed

from .common import linear


class Adapted(nn.Module):
    """A residual block: a trained adapter, and a frozen base behind it.

    The base is wider than the input by the factor `width`. The adapter has rank 2. So the wide tensors are kept for
    the backward pass also where the input of the block requires no gradient.
    """

    def __init__(self, rng: torch.Generator, features: int, width: int = 2) -> None:
        super().__init__()
        self.base = nn.Sequential(
            linear(rng, features, width * features), nn.Tanh(), linear(rng, width * features, features)
        ).requires_grad_(False)
        self.adapter = nn.Sequential(linear(rng, features, 2, bias=False), linear(rng, 2, features, bias=False))

    def forward(self, h: Tensor) -> Tensor:
        return torch.tanh(h + self.base(h + self.adapter(h)))


def embedding(rng: torch.Generator, rows: int, features: int) -> nn.Embedding:
    table = nn.Embedding(rows, features, dtype=torch.float64)
    table.weight = nn.Parameter(signed(rng, rows, features))
    return table


def adapted_model(rng: torch.Generator, blocks: int, features: int, width: int = 2) -> nn.ModuleDict:
    """Return a model with a frozen embedding of 5 rows, blocks with adapters, and a head that is trained."""
    return nn.ModuleDict(
        {
            "embed": embedding(rng, 5, features).requires_grad_(False),
            "blocks": nn.ModuleList(Adapted(rng, features, width) for _ in range(blocks)),
            "head": linear(rng, features, 1),
        }
    )
