"""Backward passes by hand: nodes are called one by one, without autograd's engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.measure import graph_nodes


def call_node(node: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Run one node and return its gradients, one for each of its `next_functions`."""
    with torch.no_grad():
        gradients = node(gradient)
    return gradients if isinstance(gradients, tuple) else (gradients,)


def pass_on(
    node: Any, gradient: Tensor, call: Callable[[Any, Tensor], tuple[Tensor | None, ...]] = call_node
) -> list[tuple[Any, Tensor]]:
    """Run one node and return the children that get a gradient, each with its gradient."""
    pairs = zip(node.next_functions, call(node, gradient))
    return [(child, given) for (child, _), given in pairs if child is not None and given is not None]


def accumulate(total: dict[Any, Tensor], node: Any, gradient: Tensor) -> None:
    total[node] = total[node] + gradient if node in total else gradient


def assign_gradient(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone()


def add_gradient(tensor: Tensor, gradient: Tensor) -> None:
    tensor.grad = gradient.clone() if tensor.grad is None else tensor.grad + gradient


def backward_by_paths(root: Tensor, at_leaf: Callable[[Tensor, Tensor], None]) -> None:
    """Run the recursion of the published pseudo-code, which calls a node once for every path."""

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
    """Run a right backward pass in topological order, with steps that a mistake may replace."""
    arrived = {root.grad_fn: start(root)}
    for node in graph_nodes(root):
        if hasattr(node, "variable") and node in arrived:
            at_leaf(node, arrived[node])
        elif node in arrived:
            for child, gradient in pass_on(node, arrived[node], call):
                accumulate(arrived, child, gradient)
