"""Recurrent cells, run in windows and in micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

from .common import linear

Loss = Callable[[Tensor, Tensor], Tensor]


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


def checkpointed(cell: Any, x: Tensor, h: Tensor) -> Any:
    """Run the cell under a checkpoint."""
    return checkpoint(cell, x, h, use_reentrant=False)


def plain(cell: Any, x: Tensor, h: Tensor) -> Any:
    """Run the cell without a checkpoint."""
    return cell(x, h)


def window_loss(cell: Any, x: Tensor, y: Tensor, h: Tensor, run: Callable[..., Any]) -> tuple[Tensor, Tensor]:
    """Return the summed squared errors of a window, and the hidden state after it."""
    total = torch.zeros((), dtype=x.dtype)
    for x_t, y_t in zip(x, y):
        prediction, h = run(cell, x_t, h)
        total = total + mse_loss(prediction, y_t, reduction="sum")
    return total, h
