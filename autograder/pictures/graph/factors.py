"""Derivatives of single steps, which stand beside arrows between numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from .model import Edge, Node
from .torch_objects import brief, safely

_MOST = 40  # nodes; in a larger graph nobody reads numbers


def with_factors(edges: Sequence[Edge], nodes: Sequence[Node], objects: Sequence[Any]) -> Iterator[Edge]:
    """Yield `edges`, with a factor where a node turns the gradient of one number into the gradient of another.

    `objects` are torch's nodes in the order of `nodes`. A node is called with a gradient of 1: this runs no hook and
    frees nothing. Custom Functions and what a hook has packed are left alone, because the learner's code would run.
    """
    slopes = {node.id: _slopes(node, objects[node.id]) for node in nodes} if len(nodes) <= _MOST else {}
    for edge in edges:
        found = slopes.get(edge.source, ())
        slope = found[edge.slot] if edge.target is not None and edge.slot < len(found) else None
        yield edge if slope is None or slope.numel() != 1 else replace(edge, factor=brief(slope.sum()))


def _slopes(node: Node, object: Any) -> tuple[torch.Tensor | None, ...]:
    """Return the gradients that a node sends for a gradient of 1, or () if it may not be called."""
    if node.leaf is not None or node.custom or len(node.outputs) != 1 or math.prod(node.outputs[0].shape) != 1:
        return ()
    if any(row.state != "held" or row.attribute for row in node.saved):
        return ()
    (made,) = node.outputs
    dtype = getattr(torch, made.dtype)
    found = safely(lambda: object(torch.ones(made.shape, dtype=dtype, device=made.device)))
    return found if isinstance(found, tuple) else (found,)
