"""The age of graphs, and losses that hold theirs."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch

from ..measure import graph_nodes
from .places import Place


def next_sequence_number() -> int:
    """Return the number that the next node of this thread gets."""
    with torch.enable_grad(), torch._C.DisableTorchFunction():
        node = torch.ones((), requires_grad=True).clone().grad_fn
    return int(node._sequence_nr()) + 1  # type: ignore[union-attr]


def oldest_saving_node(loss: torch.Tensor) -> Any:
    """Return the oldest node in the graph of `loss` that has saved tensors, or None without one.

    A view of a weight that was made once, before all steps, is no such node: it saves nothing and is used again.
    """
    saving = (node for node in graph_nodes(loss) if _saves_tensors(type(node)))  # type: ignore[arg-type]
    return min(saving, key=lambda node: node._sequence_nr(), default=None)


@cache
def _saves_tensors(kind: type) -> bool:
    """Return whether nodes of a type save tensors. A leaf's node saves none."""
    return any(name.startswith("_raw_saved_") for name in dir(kind))


class _Mark:
    """A mark that lives as long as the node that holds it."""


class HeldGraphs:
    """Graphs of all steps so far that still live."""

    def __init__(self) -> None:
        self._marks: list[tuple[Place | None, int, weakref.ref[_Mark]]] = []
        self._step = 0

    def begin_step(self) -> None:
        self._step += 1
        self._marks = [each for each in self._marks if each[2]() is not None]

    def note(self, nodes: Iterable[Any], place: Place | None) -> None:
        """Put a mark into the oldest node of each graph. Whatever of the graph is held, holds this node, too."""
        for node in nodes:
            mark = _Mark()
            node.metadata[f"autograder {self._step}"] = mark
            self._marks.append((place, self._step, weakref.ref(mark)))

    def held(self) -> Place | None:
        """Return a place whose graphs of two earlier steps still live, or None.

        A variable may hold one loss of an earlier step, of a pass that runs now and then.
        """
        steps: dict[Place, set[int]] = {}
        for place, step, mark in self._marks:
            if place is not None and step < self._step and mark() is not None:
                steps.setdefault(place, set()).add(step)
        return next((place for place, found in steps.items() if len(found) > 1), None)
