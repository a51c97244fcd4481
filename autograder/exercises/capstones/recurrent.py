"""Recurrent cells, run in windows and in micro-batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .common import linear


class Cell(nn.Module):
    """A recurrent cell with a wide frozen base.

    An adapter and a head are trained. `cell(x, h)` returns a prediction and the next hidden state.
    """

    def __init__(self, rng: torch.Generator, features: int, state: int, outputs: int, width: int = 3) -> None:
        super().__init__()
        self.base = nn.Sequential(linear(rng, features + state, width), nn.Tanh(), linear(rng, width, state))
        self.base.requires_grad_(False)
        self.adapter = linear(rng, state, state)
        self.head = linear(rng, state, outputs)

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.base(torch.cat([x, h], dim=1)) + self.adapter(h))
        return self.head(h), h
