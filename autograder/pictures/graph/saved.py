"""Tensors and storages that nodes keep for backward.

No unpack hook is called, because it may run a checkpoint's forward again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from ...measure import graph_nodes
from .model import Graph, Saved, State
from .torch_objects import dtype_of, name_of, shape_of, unnoticed

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def storages(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Return key and bytes of each storage of `tensor`.

    A sparse tensor has several storages. The list is empty if torch does not reveal the storages.
    """
    try:
        storage = tensor.untyped_storage()
        return [(storage._cdata, 0 if tensor.is_meta else storage.nbytes())]
    except (RuntimeError, NotImplementedError):
        pass
    parts = {
        torch.sparse_coo: ("_indices", "_values"),
        torch.sparse_csr: ("crow_indices", "col_indices", "values"),
        torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    }
    try:
        return [pair for part in parts.get(tensor.layout, ()) for pair in storages(getattr(tensor, part)())]
    except RuntimeError:
        return []


def saved_by(node: Any, attributes: list[str]) -> Iterator[tuple[Saved, torch.Tensor | None]]:
    """Yield a `Saved` for each tensor that `node` keeps, with the tensor itself or None.

    `attributes` are the names of the node's attributes `_raw_saved_*`. For a tensor packed by a hook, the tensor is one
    that the pack hook returned. The caller fills in `tensor`, `bytes` and `counted` of the `Saved`.
    """
    names = [attribute.removeprefix("_raw_saved_") for attribute in attributes]
    try:
        rows = [row for name in names for row in _rows(node, name)]
    except Exception as failure:  # the saved tensors were freed, and torch does not say which ones there were
        yield Saved(names[0] if len(names) == 1 and names != ["tensors"] else "", _state(failure)), None
    else:
        yield from rows
    for name, value in _by_hand(node):
        yield Saved(name, "held", attribute=True, shape=shape_of(value), dtype=dtype_of(value)), value


def _rows(node: Any, name: str) -> Iterator[tuple[Saved, torch.Tensor | None]]:
    """Yield a `Saved` and the tensor for each tensor that `node` keeps in its attribute `name`.

    Raises torch's error if the saved tensors have been freed.
    """
    raw = getattr(node, f"_raw_saved_{name}")
    several = isinstance(raw, (tuple, list))
    for index, one in enumerate(raw if several else [raw]):
        if one.unpack_hook is not None:
            inside = [item for item in _flat(one.data) if isinstance(item, torch.Tensor)]
            yield Saved(name, "packed", packed_by=name_of(one.unpack_hook)), inside[0] if inside else None
        elif isinstance(one.data, torch.Tensor):
            error = _error_of_unpacking(node, name, one, raw)
            versions = _VERSIONS.search(str(error))
            yield (
                Saved(
                    f"{name}[{index}]" if several else name,
                    _state(error) if error else "held",
                    shape=shape_of(one.data),
                    dtype=dtype_of(one.data),
                    versions=(int(versions[2]), int(versions[1])) if versions else None,
                ),
                one.data,
            )
        elif not several:
            getattr(node, f"_saved_{name}")  # None because the derivative does not need this input; raises if freed


def _error_of_unpacking(node: Any, name: str, one: Any, raw: Any) -> Exception | None:
    """Return the error that backward would get for one saved tensor, or None.

    `one` is torch's SavedTensor, which no hook has packed. `raw` is the value of the node's attribute: one SavedTensor
    or several.
    """
    several = isinstance(raw, (tuple, list))
    try:
        if several:
            one.unpack()
        else:
            getattr(node, f"_saved_{name}")
    except Exception as error:
        if not several or "detached in-place" not in str(error):
            return error
    else:
        return None
    # An output saved by the node itself can be unpacked only through the node, together with all the others.
    if one.data._version == 0 or any(other.unpack_hook is not None for other in raw):
        return None
    try:
        node.saved_tensors  # noqa: B018
    except Exception as error:
        return error
    return None


def _state(error: Exception) -> State:
    if "backward through the graph a second time" in str(error):
        return "freed"
    return "modified" if "modified by an inplace" in str(error) else "unreadable"


def _by_hand(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield name and tensor for tensors that the forward of a custom Function stored as attributes of `ctx`."""
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        for name, value in vars(node).items():
            for item in _flat(value):
                if isinstance(item, torch.Tensor):
                    yield f"ctx.{name}", item


def _flat(value: object) -> list[object]:
    return [*value] if type(value) in (list, tuple) else [value]  # type: ignore[misc]


Storages = list[list[list[tuple[int, int]]]]  # key and bytes of each storage, by node and saved tensor

_FOR_EVER = -1


def saved_storages(loss: torch.Tensor, graph: Graph) -> Storages:
    """Return key and bytes of the storages that only the graph keeps.

    The result holds a list for each node. The node's list holds, for each saved tensor, a list of pairs of key and
    bytes.
    """
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
    """Storages that only the graph keeps, with the nodes that hold them."""

    def __init__(self, graph: Graph, storages: Storages) -> None:
        self._storages = storages
        self._held: dict[int, tuple[int, set[int]]] = {}
        for index, rows in enumerate(storages):
            for row, found in zip(graph.nodes[index].saved, rows):
                for key, size in found:  # tensors that are attributes of ctx are never freed by backward
                    self._held.setdefault(key, (size, set()))[1].add(_FOR_EVER if row.attribute else index)

    def let_go(self, node: int) -> int:
        """Return the bytes that become free when `node` releases its saved tensors.

        This method must be called for the nodes in the order in which they run.
        """
        freed = 0
        for key in {key for row in self._storages[node] for key, _ in row}:
            size, nodes = self._held[key]
            freed += size if nodes == {node} else 0
            nodes.discard(node)
        return freed
