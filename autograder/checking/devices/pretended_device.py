"""A pretended device, which refuses mixtures as a GPU does.

Its tensors hold real numbers, on the CPU. It lets code for a GPU run on a machine without one. Speed, memory and
kernels of a GPU are not pretended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._C import (
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
    _pop_torch_dispatch_stack,
    _pop_torch_function_stack,
    _push_on_torch_dispatch_stack,
    _push_on_torch_function_stack,
)
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from ..counting.own_operators import CalledOwnOperator, has_own_dispatch
from .mixtures import NO_ARRAY, WRONG_GRAD, WRONG_VECTOR, copies, find_mixture
from .storage_devices import CPU, Devices, tensors_of

_WRAPS_DATA = (torch.as_tensor, torch.asarray)
# Methods that make their result on the device of their tensor, although they read only its settings.
_KEEPS_DEVICE = frozenset({Tensor.__deepcopy__, Tensor.new_tensor, Tensor.new_zeros, Tensor.new_ones, Tensor.new_full})
_KEEPS_DEVICE |= {Tensor.new_empty}


class _Moved(torch.autograd.Function):
    """A copy on the other device, whose gradient comes back."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, device: torch.device, dtype: torch.dtype, devices: Devices) -> Tensor:
        ctx.back = CPU if device == devices.there else devices.there, tensor.dtype, devices
        moved = Tensor.to(tensor, CPU, dtype, copy=True)
        devices.put(moved, device)
        return moved

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        device, dtype, devices = ctx.back
        return _Moved.apply(gradient, device, dtype, devices), None, None, None  # type: ignore[no-untyped-call]


class _Operations(TorchDispatchMode):
    """A mode that refuses mixtures, and notes the device of each result."""

    def __init__(self, devices: Devices) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.devices = devices
        self.asked = False  # whether a user's call is running, and no formula of torch

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and the wrapper that torch would add takes 10 us per operation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if has_own_dispatch(types):  # it runs while this mode is off
            raise CalledOwnOperator
        devices, inputs, named = self.devices, tensors_of(args), dict(kwargs or {})
        if named:
            inputs += tensors_of(named)
            named.pop("pin_memory", None)
        places = [devices.of(each) for each in inputs]
        device = devices.there if devices.there in places else None
        if CPU in places or self.asked:
            if device and (error := find_mixture(func, args, inputs, devices)):
                raise RuntimeError(error)
            device = places[0] if copies(func) else device or CPU
        with torch._C.DisableTorchFunction():  # else `_Calls` would see the operation as a call of the user
            result = func(*args, **named)
        for each in tensors_of(result):
            devices.put_new(each, device)
        return result


class _Calls(TorchFunctionMode):
    """A mode for a tensor's device, and for moves."""

    def __init__(self, operations: _Operations) -> None:
        super().__init__()
        self.operations, self.devices = operations, operations.devices
        self.answers: dict[Any, Callable[..., Any]] = {
            Tensor.device.__get__: lambda tensor: self._of(tensor),
            getattr(Tensor, f"is_{self.devices.there.type}").__get__: lambda x: self._of(x) == self.devices.there,
            Tensor.is_cpu.__get__: lambda tensor: self._of(tensor) == CPU,  # type: ignore[attr-defined]
            Tensor.get_device: lambda tensor: -1 if self._of(tensor) == CPU else 0,
            Tensor.cpu: lambda tensor, *_, **__: self._move(tensor, CPU),
            Tensor.to: self._to,
            Tensor.type_as: lambda tensor, other: self._to(tensor, other),
            Tensor.numpy: self._numpy,
            Tensor.__array__: self._array,
            Tensor.__setitem__: self._set_item,
            Tensor.grad.__set__: self._set_grad,  # type: ignore[union-attr]
        }
        if hasattr(Tensor, self.devices.there.type):
            self.answers[getattr(Tensor, self.devices.there.type)] = lambda tensor, *_, **__: self._move(
                tensor, self.devices.there
            )

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        answer = self.answers.get(func)
        if answer is not None:
            return answer(*args, **named)
        wanted = _device_named(named["device"]) if "device" in named else None
        if wanted is not None:
            if func in _WRAPS_DATA and args and isinstance(args[0], Tensor):
                args = (self._move(args[0], self._one_of(wanted)), *args[1:])
            named = {**named, "device": CPU} if wanted.type == self.devices.there.type else named
        elif func in _KEEPS_DEVICE:
            wanted = self._of(args[0])
        operations, asked = self.operations, self.operations.asked
        operations.asked = not (tensors_of(args) or (named and tensors_of(named)))
        try:
            result = func(*args, **named)
        finally:
            operations.asked = asked
        if wanted is not None and isinstance(result, Tensor):
            self.devices.put(result, self._one_of(wanted))
        return result

    def _of(self, tensor: Tensor) -> torch.device:
        real: torch.device = tensor.device
        return real if real.type == "meta" else self.devices.of(tensor) or CPU

    def _one_of(self, device: torch.device) -> torch.device:
        return self.devices.there if device.type == self.devices.there.type else CPU

    def _to(self, tensor: Tensor, *args: Any, **named: Any) -> Any:
        given = [*args, *named.values()]
        like = [each for each in given if isinstance(each, Tensor)]
        devices = [each for each in map(_device_named, (*args[:1], named.get("device"))) if each is not None]
        devices += [self._of(each) for each in like]
        dtypes = [each for each in given if isinstance(each, torch.dtype)] + [each.dtype for each in like]
        how = {name: named[name] for name in ("copy", "memory_format") if name in named}
        device = devices[0] if devices else self._of(tensor)
        if device.type not in ("cpu", self.devices.there.type):
            return Tensor.to(tensor, *args, **named)
        return self._move(tensor, self._one_of(device), *dtypes[:1], **how)

    def _move(self, tensor: Tensor, device: torch.device, *dtype: torch.dtype, **how: Any) -> Any:
        if tensor.device.type == "meta" or self._of(tensor) == device:
            return tensor.to(*dtype, **how) if dtype or how else tensor  # type: ignore[call-overload]
        return _Moved.apply(tensor, device, *(dtype or (tensor.dtype,)), self.devices)  # type: ignore[no-untyped-call]

    def _numpy(self, tensor: Tensor, *args: Any, **named: Any) -> Any:
        self._refuse_array(tensor)
        return Tensor.numpy(tensor, *args, **named)

    def _array(self, tensor: Tensor, *args: Any, **named: Any) -> Any:
        self._refuse_array(tensor)
        return Tensor.__array__(tensor, *args, **named)  # type: ignore[no-untyped-call]

    def _set_item(self, tensor: Tensor, key: Any, value: Any) -> None:
        """Write with indices of any device, which torch moves to that of `tensor`."""
        moved = tree_map_only(Tensor, lambda index: self._move(index, self._of(tensor)), key)
        Tensor.__setitem__(tensor, moved, value)

    def _set_grad(self, tensor: Tensor, gradient: Tensor | None) -> None:
        if gradient is not None and self._of(gradient) != self._of(tensor):
            raise RuntimeError(WRONG_GRAD.format(self._of(gradient).type, self._of(tensor).type))
        tensor.grad = gradient

    def _refuse_array(self, tensor: Tensor) -> None:
        if self._of(tensor) == self.devices.there:
            raise TypeError(NO_ARRAY.format(self.devices.there))


def _device_named(wanted: Any) -> torch.device | None:
    """Return a device that was given as a text or a `torch.device`, or None."""
    return torch.device(wanted) if isinstance(wanted, (str, torch.device)) else None


@contextmanager
def _on_function_stack(mode: _Calls) -> Iterator[None]:
    """Activate a function mode in the `with` block. Afterwards it is off, whatever else the block left on."""
    if mode in _get_current_function_mode_stack():
        yield
        return
    _push_on_torch_function_stack(mode)
    try:
        yield
    finally:
        left = [_pop_torch_function_stack() for _ in range(_len_torch_function_stack())]
        for each in reversed([each for each in left if each is not mode]):
            _push_on_torch_function_stack(each)


@contextmanager
def _on_dispatch_stack(mode: _Operations) -> Iterator[None]:
    """Activate a dispatch mode in the `with` block, as `_on_function_stack` does for a function mode."""
    _push_on_torch_dispatch_stack(mode)
    try:
        yield
    finally:
        left = [_pop_torch_dispatch_stack(None) for _ in range(_len_torch_dispatch_stack())]
        for each in reversed([each for each in left if each is not mode]):
            _push_on_torch_dispatch_stack(each)


@contextmanager
def _replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Replace an attribute in the `with` block by what `make` returns for it."""
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def pretended_device(name: str) -> Iterator[Devices]:
    """Let the `with` block use a device such as "cuda", "mps" or "xpu" that this machine lacks.

    Yields the `Devices`, whose `put` places a tensor of the CPU on the pretended device. Operations of other threads
    and of compiled functions are not seen. Afterwards both modes are off, whatever the block did.
    """
    operations = _Operations(devices := Devices(torch.device(name, 0)))
    calls = _Calls(operations)

    # torch switches `calls` off while it handles a call, but custom Functions and hooks run inside calls
    def with_calls(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            with _on_function_stack(calls):
                return function(*args, **named)

        return call

    def hooking(init: Callable[..., None]) -> Callable[..., None]:
        def wrapped(self: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
            init(self, with_calls(pack_hook), with_calls(unpack_hook))

        return wrapped

    def with_vectors(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(outputs: Any, vectors: Any, *args: Any, **named: Any) -> Any:
            for index, (output, vector) in enumerate(zip(outputs, vectors)):
                if isinstance(vector, Tensor) and vector.dim() and devices.of(vector) != devices.of(output):
                    raise RuntimeError(WRONG_VECTOR.format(index, devices.of(output), devices.of(vector)))
            return with_calls(function)(outputs, vectors, *args, **named)

        return call

    with (
        _replaced(torch.autograd, "_engine_run_backward", with_vectors),
        _replaced(saved_tensors_hooks, "__init__", hooking),
        _on_dispatch_stack(operations),
        _on_function_stack(calls),
    ):
        yield devices
