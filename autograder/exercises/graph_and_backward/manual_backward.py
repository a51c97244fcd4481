"""Backward passes that call nodes one by one, without autograd's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def call_node(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Call a node with the incoming gradient, and return a gradient for each of its `next_functions`."""
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)


def pass_on(
    node: Any, gradient: Tensor, call: Callable[[Any, Tensor], tuple[Tensor | None, ...]] = call_node
) -> list[tuple[Any, Tensor]]:
    """Call a node, and return pairs of a node in its `next_functions` and the gradient for that node.

    Entries without a node or a gradient are left out. `call` runs the node.
    """
    pairs = zip(node.next_functions, call(node, gradient))
    return [(child, given) for (child, _), given in pairs if child is not None and given is not None]


def assign_gradient(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone()


def backward_by_paths(root: Tensor, at_leaf: Callable[[Tensor, Tensor], None]) -> None:
    """Run a wrong backward pass: recursively, with one call of a node for every path to it.

    `at_leaf` is called with each leaf and each gradient that arrives there.
    """

    def backward(node: Any, incoming: Tensor) -> None:
        if hasattr(node, "variable"):
            at_leaf(node.variable, incoming)
            return
        for child, gradient in pass_on(node, incoming):
            backward(child, gradient)

    backward(root.grad_fn, torch.ones_like(root))
