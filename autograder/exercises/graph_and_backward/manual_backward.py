"""Backward passes that call nodes one by one, without autograd's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.measure import graph_nodes


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


def accumulate(total: dict[Any, Tensor], node: Any, gradient: Tensor) -> None:
    total[node] = total[node] + gradient if node in total else gradient


def assign_gradient(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone()


def add_gradient(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone() if tensor.grad is None else tensor.grad + gradient


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


def backward_in_order(
    root: Tensor,
    at_leaf: Callable[[Any, Tensor], object],
    start: Callable[[Tensor], Tensor] = torch.ones_like,
    call: Callable[[Any, Tensor], tuple[Tensor | None, ...]] = call_node,
) -> None:
    """Run a right backward pass from `root`, in topological order.

    `at_leaf` is called with each leaf's node and gradient. A mistake passes another `start`, the gradient of `root`, or
    another `call`, which runs a node.
    """
    arrived = {root.grad_fn: start(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable") and node in arrived:
            at_leaf(node, arrived[node])
        elif node in arrived:
            for child, gradient in pass_on(node, arrived[node], call):
                accumulate(arrived, child, gradient)
