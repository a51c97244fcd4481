"""Collection of `Tensor` records while a graph is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from .model import Kind, Tensor
from .saved import storages
from .torch_objects import brief, dtype_of, is_number, name_of, safely, shape_of


class Registry:
    """The `Tensor` records of one graph, one per tensor.

    Methods return the position of a record in `records`, an int, instead of the record itself. `ids` is a dict from a
    node of torch to its number. `named` holds the caller's variables. The registry keeps torch's tensors alive;
    `records` does not.
    """

    def __init__(self, ids: dict[Any, int], named: list[tuple[str, torch.Tensor]]) -> None:
        self.ids = ids
        self.records: list[Tensor] = []
        self.names: dict[int, list[str]] = {}
        self._named = [tensor for _, tensor in named]
        self._objects: dict[int, tuple[torch.Tensor, int]] = {}  # keeps the object alive so that its id stays unique
        self._made: dict[tuple[int, int], int] = {}
        self._of: list[torch.Tensor] = []
        self._leaves: dict[int, int] = {}  # storage -> record
        self._constants: dict[int, torch.Tensor] = {}  # storage -> a tensor that the caller has named
        for name, tensor in named:
            self.names.setdefault(id(tensor), []).append(name)
            if tensor.is_leaf and not tensor.requires_grad:
                self._constants.update((key, tensor) for key, _ in storages(tensor))

    def note_named(self) -> None:
        """Add a record for each tensor that has a name and was made by a node of the graph."""
        for tensor in self._named:
            if self.maker(tensor) is not None:
                self.record(tensor)

    def maker(self, tensor: torch.Tensor) -> int | None:
        """Return the number of the node that made `tensor`, or None if that node is not in this graph.

        Also returns None if torch raises because the tensor is a view invalidated in place.
        """
        node = safely(lambda: tensor.grad_fn)
        return None if node is None else self.ids.get(node)

    def at(self, node: int, output: int) -> int | None:
        """Return the position of the record of output number `output` of a node, or None."""
        return self._made.get((node, output))

    def record(self, tensor: torch.Tensor, kind: Kind | None = None) -> int:
        """Return the position of the record of `tensor`. Add a record if there is none.

        If two Python objects are the same output of a node, they share a record with both names.
        """
        if id(tensor) in self._objects:
            return self._objects[id(tensor)][1]
        maker, output = self.maker(tensor), int(tensor.output_nr)
        known = None if maker is None else self.at(maker, output)
        index = len(self.records) if known is None else known
        self._objects[id(tensor)] = (tensor, index)
        names = tuple(self.names.get(id(tensor), ()))
        if known is not None:
            old = self.records[known]
            self.records[known] = replace(old, names=old.names + tuple(n for n in names if n not in old.names))
            return known
        if maker is not None:
            self._made[maker, output] = index
        self._of.append(tensor)
        self.records.append(_facts(tensor, index, names, kind, maker))
        if tensor.is_leaf and tensor.requires_grad:
            self._leaves.update((key, index) for key, _ in storages(tensor))
        return index

    def note_views(self) -> None:
        """Set `view_of` in the record of each view.

        If the base has a name, is in the graph or requires grad, `view_of` points to the record of the base. Otherwise
        it points to the record of a leaf with the same storage, if there is one.
        """
        for tensor, index in [*self._objects.values()]:
            base = tensor._base
            if base is None:
                continue
            if id(base) in self.names or self.maker(base) is not None or base.requires_grad:
                of: int | None = self.record(base)
            else:
                of = next((self._leaves[key] for key, _ in storages(tensor) if key in self._leaves), None)
            if of is not None and of != index:
                self.records[index] = replace(self.records[index], view_of=of)

    def output_like(self, node: int, outputs: int, tensor: torch.Tensor) -> int | None:
        """Return the position of the record for an output of `node` that `tensor` equals, or None.

        The output has the storage and shape of `tensor`. Needed because a node saves its own output as a tensor without
        grad_fn. `outputs` is the number of outputs.
        """
        found = storages(tensor)
        for output in range(outputs):
            index = self.at(node, output)
            if found and index is not None and storages(self._of[index]) == found:
                return index if self.records[index].shape == shape_of(tensor) else None
        return None

    def input_of(self, tensor: torch.Tensor) -> int | None:
        """Return the index of the leaf or named constant whose storage `tensor` shares, or None if there is none.

        The index is one in the list of records. For `w.t()` it is that of `w`. For a tensor that the graph computed the
        result is None, even if a detached alias of it has a name.
        """
        keys = [key for key, _ in storages(tensor)]
        if keys and keys[0] in self._leaves:
            return self._leaves[keys[0]]
        if keys and keys[0] in self._constants and tensor.is_leaf:
            return self.record(self._constants[keys[0]])
        return None

    def known(self, tensor: torch.Tensor) -> int | None:
        """Return the position of the record of `tensor`, or None if there is no record."""
        if id(tensor) in self._objects:
            return self._objects[id(tensor)][1]
        maker = self.maker(tensor)
        return None if maker is None else self.at(maker, int(tensor.output_nr))


def _facts(tensor: torch.Tensor, index: int, names: tuple[str, ...], kind: Kind | None, maker: int | None) -> Tensor:
    leaf = tensor.is_leaf
    grad = tensor.grad if leaf or tensor.retains_grad else None
    return Tensor(
        id=index,
        names=names,
        kind=kind or _kind(tensor),
        shape=shape_of(tensor),
        dtype=dtype_of(tensor),
        device=str(tensor.device),
        requires_grad=tensor.requires_grad,
        retains_grad=tensor.retains_grad,
        value=brief(tensor) if tensor.numel() <= 3 else None,
        grad=None if grad is None else brief(grad) or "?",
        grad_kept=tensor.requires_grad and (leaf or tensor.retains_grad),
        grad_has_graph=grad is not None and grad.requires_grad,
        version=safely(lambda: int(tensor._version)),  # an inference tensor has none
        view=bool(tensor._is_view()),
        view_of=None,
        hooks=tuple(name_of(hook) for hook in (tensor._backward_hooks or {}).values()),
        post_hooks=tuple(name_of(hook) for hook in (tensor._post_accumulate_grad_hooks or {}).values()),
        node=maker,
        output=int(tensor.output_nr),
    )


def _kind(tensor: torch.Tensor) -> Kind:
    if not tensor.is_leaf:
        return "intermediate"
    return "leaf" if tensor.requires_grad else "number" if is_number(tensor) else "constant"
