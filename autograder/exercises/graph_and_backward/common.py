"""Parts shared by the exercises on the graph and the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.measure import graph_nodes

FLOAT64 = torch.float64


def _leaves(tensor: Tensor) -> list[Tensor]:
    """The leaves that a backward pass from `tensor` reaches, in an order that follows from the graph alone."""
    return [node.variable for node in graph_nodes(tensor) if hasattr(node, "variable")]


def _call(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Run one node: what it gives back, one entry for each of its `next_functions`."""
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)


def _seed_backward(root: Tensor, at_leaf: Callable[[Tensor, Tensor], None]) -> None:
    """The recursion of the published pseudo-code: one call for every path."""

    def backward(node: Any, incoming: Tensor) -> None:
        if hasattr(node, "variable"):
            at_leaf(node.variable, incoming)
            return
        for (child, _), gradient in zip(node.next_functions, _call(node, incoming)):
            if child is not None and gradient is not None:
                backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))


def _assign(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone()


_ROWS, _WIDTH = 64, 32
