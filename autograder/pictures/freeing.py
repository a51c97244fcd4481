"""What a plain backward() lets go of, step by step: which node holds which storage."""

from __future__ import annotations

from typing import Any

import torch

from ..measure import graph_nodes
from .looking import unnoticed
from .model import Graph
from .saved import saved_by, storages

Storages = list[list[list[tuple[int, int]]]]  # key and bytes, for each node, for each of its saved rows

_FOR_EVER = -1


def saved_storages(loss: torch.Tensor, graph: Graph) -> Storages:
    """For each node and each of its saved rows, key and bytes of the storages that only the graph keeps."""
    with unnoticed():
        return [_of(node, graph, index) for index, node in enumerate(graph_nodes(loss))]


def _of(node: Any, graph: Graph, index: int) -> list[list[tuple[int, int]]]:
    rows = graph.nodes[index].saved
    names = [name for name in dir(node) if name.startswith("_raw_saved_")] if rows else []
    tensors = [tensor for _, tensor in saved_by(node, names)] if rows else []
    return [
        storages(tensor) if tensor is not None and row.counted in ("here", "elsewhere") else []
        for row, tensor in zip(rows, tensors)
    ]


class Holders:
    """For each storage that only the graph keeps: its bytes and the nodes that still hold it."""

    def __init__(self, graph: Graph, storages: Storages) -> None:
        self._storages = storages
        self._held: dict[int, tuple[int, set[int]]] = {}
        for index, rows in enumerate(storages):
            for row, found in zip(graph.nodes[index].saved, rows):
                for key, size in found:  # what was put on ctx by hand stays there
                    self._held.setdefault(key, (size, set()))[1].add(_FOR_EVER if row.attribute else index)

    def let_go(self, node: int) -> int:
        """The bytes that are free once `node`, too, has let go of what it saved."""
        freed = 0
        for key in {key for row in self._storages[node] for key, _ in row}:
            size, nodes = self._held[key]
            freed += size if nodes == {node} else 0
            nodes.discard(node)
        return freed
