"""A pretended CUDA device: tensors with real numbers on the CPU, and torch's error for mixtures of devices.

It serves to run code for a GPU on a machine without one. Speed, memory and kernels of a GPU are not pretended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
_MIXTURE = "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!"
# CUDA's kernels take a tensor of the CPU for these: to copy from, and as indices.
_MAY_MIX = {"aten::copy_", "aten::index.Tensor", "aten::index_put_", "aten::_index_put_impl_"}
_CUDA_FUNCTIONS: dict[str, Any] = {
    "_lazy_init": lambda: None,
    "is_available": lambda: True,
    "synchronize": lambda: None,
    "reset_peak_memory_stats": lambda: None,
    "memory_allocated": lambda: 0,
    "max_memory_allocated": lambda: 1,
}


class Devices:
    """The device of each storage, as far as it is known.

    What torch's own formulas make is on neither device, because they make it where the real tensors are.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[torch.device, Any]] = {}  # with the storage, whose address could be used again

    def put(self, tensor: Tensor, device: torch.device) -> None:
        storage = tensor.untyped_storage()
        self._known[storage._cdata] = device, storage

    def of(self, tensor: Tensor) -> torch.device | None:
        return self._known.get(tensor.untyped_storage()._cdata, (None, None))[0]


class Moved(torch.autograd.Function):
    """A copy on the other device. The gradient comes back to the first."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, device: torch.device, dtype: torch.dtype, devices: Devices) -> Tensor:
        ctx.back = CPU if device == CUDA else CUDA, tensor.dtype, devices
        moved = Tensor.to(tensor, CPU, dtype, copy=True)
        devices.put(moved, device)
        return moved

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        device, dtype, devices = ctx.back
        moved = Tensor.to(gradient, CPU, dtype, copy=True)
        devices.put(moved, device)
        return moved, None, None, None


class _Operations(TorchDispatchMode):
    """A mode that refuses mixtures, and notes the device of each result."""

    def __init__(self, devices: Devices) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.devices = devices
        self.asked = False  # whether a user's call is running, and no formula of torch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        named.pop("pin_memory", None)
        inputs = [each for each in tree_leaves((args, named)) if isinstance(each, Tensor)]
        known = [self.devices.of(each) for each in inputs if each.dim() > 0]
        if {CPU, CUDA} <= set(known) and func._schema.name not in _MAY_MIX and func.name() not in _MAY_MIX:
            raise RuntimeError(_MIXTURE)
        wanted = named.get("device")
        if wanted is not None:
            named["device"] = CPU
        result = func(*args, **named)
        device = (
            CUDA
            if CUDA in map(self.devices.of, inputs)
            else CPU
            if CPU in known or (self.asked and not inputs)
            else None
        )
        if wanted is not None and torch.device(wanted).type == "cuda":
            device = CUDA
        for each in tree_leaves(result):
            if device is not None and isinstance(each, Tensor) and (self.devices.of(each) is None or not inputs):
                self.devices.put(each, device)
        return result


class _Calls(TorchFunctionMode):
    """A mode for what Python code asks of tensors: their device, and moves."""

    def __init__(self, operations: _Operations) -> None:
        super().__init__()
        self.operations, self.devices = operations, operations.devices

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func == Tensor.device.__get__:  # type: ignore[attr-defined]
            return self.devices.of(args[0]) or CPU
        if func == Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return self.devices.of(args[0]) == CUDA
        if func is Tensor.cuda:
            return self._move(args[0], CUDA, {})
        if func is Tensor.cpu:
            return self._move(args[0], CPU, {})
        if func is Tensor.to:
            return self._to(*args, **named)
        asked, self.operations.asked = (
            self.operations.asked,
            not any(isinstance(each, Tensor) for each in tree_leaves(args)),
        )
        try:
            return func(*args, **named)
        finally:
            self.operations.asked = asked

    def _to(self, tensor: Tensor, *args: Any, **named: Any) -> Any:
        like = [each for each in args if isinstance(each, Tensor)]
        devices = [each for each in (*args, named.get("device")) if isinstance(each, str | torch.device)]
        devices += [self.devices.of(each) or CPU for each in like]
        dtypes = [each for each in (*args, named.get("dtype")) if isinstance(each, torch.dtype)]
        dtypes += [each.dtype for each in like]
        how = {"dtype": dtypes[0]} if dtypes else {}
        device = torch.device(devices[0]) if devices else self.devices.of(tensor) or CPU
        return self._move(tensor, CUDA if device.type == "cuda" else CPU, how)

    def _move(self, tensor: Tensor, device: torch.device, how: dict[str, Any]) -> Any:
        if (self.devices.of(tensor) or CPU) == device:
            return Tensor.to(tensor, **how) if how else tensor
        return Moved.apply(tensor, device, how.get("dtype", tensor.dtype), self.devices)  # type: ignore[no-untyped-call]


@contextmanager
def pretended_cuda() -> Iterator[None]:
    """Let the `with` block use a device "cuda" that this machine lacks."""
    operations = _Operations(Devices())
    with mock.patch.multiple("torch.cuda", **_CUDA_FUNCTIONS), operations, _Calls(operations):
        yield
