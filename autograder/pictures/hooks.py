"""The names of the learner's own hooks, for a recorder to say which ran with a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .looking import name_of, safely


def hooks_on_tensors(tensors: Sequence[torch.Tensor], nodes: Sequence[Any]) -> dict[int, list[str]]:
    """Names of the hooks on `tensors` for each of `nodes`, by its position, whose outputs they are."""
    ids = {node: index for index, node in enumerate(nodes)}
    hooks: dict[int, list[str]] = {}
    for tensor in tensors:
        found = tensor._backward_hooks or {}
        edge = edge_of(tensor) if found else None
        if edge is not None and edge.node in ids:
            hooks.setdefault(ids[edge.node], []).extend(name_of(hook) for hook in found.values())
    return hooks


def hooks_beside(*handles: Any) -> Callable[[], list[str]]:
    """Names of the other hooks of a node, asked for later: torch tells of them only by the dictionary in which it has
    put one's own."""

    def names() -> list[str]:
        return [
            name_of(hook)
            for handle in handles
            for id, hook in (handle.hooks_dict_ref() or {}).items()
            if id != handle.id
        ]

    return names


def edge_of(tensor: torch.Tensor) -> torch.autograd.graph.GradientEdge | None:
    """The node and output that made `tensor`; None where torch refuses to tell."""
    return safely(lambda: torch.autograd.graph.get_gradient_edge(tensor))
