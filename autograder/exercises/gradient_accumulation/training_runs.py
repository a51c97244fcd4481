"""Values with torch behind them, and observations of a training loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Batch = Sequence[Any]  # x, y, and perhaps the number of the second layer
Train = Callable[..., object]


class Value:
    """A leaf or a loss with `data`, `grad` and `backward()`.

    `gradients` are those of a loss, by leaf. `begin` is called when a backward pass begins.
    """

    def __init__(
        self, data: Tensor, gradients: dict[Value, Tensor] | None = None, begin: Callable[[], object] = lambda: None
    ) -> None:
        self.data, self._gradients, self._begin = data, gradients or {}, begin
        self.grad: Tensor | None = None

    def __repr__(self) -> str:
        return f"Value of shape {tuple(self.data.shape)}"

    def backward(self) -> None:
        self._begin()
        for leaf, gradient in self._gradients.items():
            leaf.grad = gradient.clone() if leaf.grad is None else leaf.grad + gradient


def loss_in_torch(parameters: Sequence[Tensor], batch: Batch) -> Tensor:
    """Return the summed squares of `x @ w @ layer - y`. A batch that names no layer uses `parameters[1]`."""
    x, y, *number = batch
    loss: Tensor = (x @ parameters[0] @ parameters[number[0] if number else 1] - y).square().sum()
    return loss


def loss_in_values(parameters: Sequence[Value], batch: Batch, begin: Callable[[], object] = lambda: None) -> Value:
    """Return the same loss as a value, whatever the answer has switched off."""
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [each.data.detach().clone().requires_grad_() for each in parameters]
        loss = loss_in_torch(leaves, batch)
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return Value(loss.detach(), {each: part for each, part in zip(parameters, found) if part is not None}, begin)


def observe_loop(train: Train, leaves: Sequence[Any], batches: Sequence[Batch], rate: float) -> dict[str, object]:
    """Return what a training loop returns, the weights after each step, and what it runs.

    `leaves` are values or torch's tensors. The weights after a step are those with which the next batch is met.
    """
    met: list[Tensor] = []
    weights: list[object] = []
    empty: list[bool] = []

    def note_pass() -> None:
        empty.append(not any(isinstance(each.grad, Tensor) and each.grad.any() for each in leaves))

    def loss_of(batch: Batch) -> Value | Tensor:
        if met and met[-1] is not batch[0]:
            weights.append(_data(leaves))
        met.append(batch[0])
        in_torch = isinstance(leaves[0], Tensor)
        return loss_in_torch(leaves, batch) if in_torch else loss_in_values(leaves, batch, note_pass)

    loss_of.__qualname__ = "loss_of"  # an error about its arguments names it
    returned = train([*leaves], loss_of, [*batches], rate)
    weights.append(_data(leaves))
    runs = {"calls of loss_of": len(met), "backward passes": len(empty)}
    return {"returned": returned, "weights": weights, "runs": runs, "empty": empty}


def _data(leaves: Sequence[Any]) -> object:
    """Return a copy of the data of all leaves as one tensor, or what else an answer has put there."""
    data = [each.data for each in leaves]
    return torch.cat([each.detach().flatten() for each in data]) if all(isinstance(e, Tensor) for e in data) else data
