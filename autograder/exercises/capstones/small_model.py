"""A small model: frozen embedding, blocks over whole batches, wide head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from autograder.checking.inputs import signed

from .common import linear


class Block(nn.Module):
    """A layer that subtracts the mean over all rows of a batch.

    Batch normalization does so, too. Autograd keeps one tensor for it beside its input, the result. If `drops` is true, entries are dropped at random.
    """

    def __init__(self, rng: torch.Generator, width: int, drops: bool = False) -> None:
        super().__init__()
        self.linear = linear(rng, width, width, bias=False)
        self.drops = drops

    def forward(self, h: Tensor) -> Tensor:
        z = self.linear(h)
        if self.drops and self.training:
            z = z * (torch.rand(z.shape, dtype=z.dtype) < 0.7)
        return torch.tanh(z - z.mean(0))


class Model(nn.Module):
    """An embedding, blocks and a head.

    The embedding and the first `frozen` blocks are not trained. If `drops` is true, every second block drops entries.
    """

    def __init__(
        self,
        rng: torch.Generator,
        width: int,
        depth: int,
        classes: int,
        words: int,
        frozen: int,
        drops: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(2 * signed(rng, words, width))
        self.blocks = nn.ModuleList([Block(rng, width, drops and bool(i % 2)) for i in range(depth)])
        self.blocks[:frozen].requires_grad_(False)
        self.head = linear(rng, width, classes)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embedding(ids)
        for block in self.blocks:
            h = block(h)
        return self.head(h)  # type: ignore[no-any-return]
