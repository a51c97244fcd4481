"""Devices of storages while one is pretended."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.multiprocessing.reductions import StorageWeakRef

CPU = torch.device("cpu")


def tensors_of(tree: Any) -> list[Tensor]:
    """Return the tensors in nested lists, tuples and dicts."""
    if isinstance(tree, Tensor):
        return [tree]
    found: list[Tensor] = []
    if isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            if isinstance(item, Tensor):
                found.append(item)
            elif isinstance(item, (list, tuple, dict)):
                found += tensors_of(item)
    return found


class Devices:
    """The device of each storage, as far as it is known.

    It is the CPU, or `there`, the pretended one. What torch's own formulas make is on neither device, because they make
    it where the real tensors are. What was made before lies on the CPU.
    """

    def __init__(self, there: torch.device) -> None:
        self.there = there
        # A weak reference keeps no bytes alive, and no other storage can get the same key before it is gone.
        self._known: dict[int, tuple[torch.device | None, StorageWeakRef]] = {}

    def put(self, tensor: Tensor, device: torch.device | None) -> None:
        """Note that the numbers of `tensor` are on `device`, or on neither if it is None."""
        storage = _storage(tensor)
        if storage is not None:
            self._known[storage._cdata] = device, StorageWeakRef(storage)

    def put_new(self, tensor: Tensor, device: torch.device | None) -> None:
        """Do as `put`, unless the device of these numbers is noted already."""
        storage = _storage(tensor)
        if storage is not None and storage._cdata not in self._known:
            self._known[storage._cdata] = device, StorageWeakRef(storage)

    def of(self, tensor: Tensor) -> torch.device | None:
        """Return the device of a tensor, or None if it is on neither.

        A single number that was not noted is on neither: torch makes tensors of Python's numbers.
        """
        storage = _storage(tensor)
        if storage is None:
            return None
        known = self._known.get(storage._cdata)
        return known[0] if known else CPU if tensor.dim() else None


def _storage(tensor: Tensor) -> Any:
    """Return the storage of a tensor, or of the values of a sparse one; None if it has neither."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        if is_functorch_wrapped_tensor(tensor):
            return _storage(get_unwrapped(tensor))
        return tensor._values().untyped_storage() if tensor.layout == torch.sparse_coo else None
