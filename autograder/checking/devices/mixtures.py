"""Mixtures of two devices, as a GPU takes or refuses them.

What an H100 did with mixtures in each of torch's operations is recorded in tests/checking/devices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .storage_devices import CPU, Devices, tensors_of

MIXTURE = "Expected all tensors to be on the same device, but found at least two devices, {} and cpu!"
NO_ARRAY = "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
WRONG_GRAD = (
    "attempting to assign a gradient with device type '{}' to a tensor with device type '{}'. Please ensure that the "
    "gradient and the tensor are on the same device"
)
WRONG_VECTOR = "invalid gradient at index {} - expected device {} but got {}"
INDEX = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
REFUSALS = (MIXTURE, NO_ARRAY, WRONG_GRAD, WRONG_VECTOR, INDEX)

# They write the numbers of another device into their first input, or into a copy of it.
_COPIES = frozenset(
    {"copy_", "as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter", "resize_as_"}
)
_INDEXING = frozenset({"index", "index_put_", "index_put", "_index_put_impl_"})
# Operations on each entry take one single number of the CPU, as torch's TensorIterator.cpp says, and so do these:
_TAKES_NUMBERS = frozenset(
    {"allclose", "floor_divide", "index_fill", "linspace", "logspace", "masked_fill", "rsub", *_INDEXING}
)
# These are operations on each entry, too, and refuse it:
_TAKES_NONE = frozenset(
    {"clamp", "clamp_max", "clamp_min", "igamma", "igammac", "lerp", "logaddexp", "logaddexp2", "nextafter"}
)


def copies(operation: Any) -> bool:
    """Return whether an operation of torch copies numbers from any device to that of its first input."""
    return _name(operation) in _COPIES


def find_mixture(operation: Any, args: Any, inputs: list[Tensor], devices: Devices) -> str | None:
    """Return a GPU's error for the `inputs` of an operation of torch, or None if it takes them.

    At least one of the inputs lies on the pretended device. `args` are the operation's arguments.
    """
    name = _name(operation)
    if name in _COPIES:
        return None
    if name in _INDEXING:  # the indices may lie on the CPU
        if devices.of(inputs[0]) == CPU:
            return INDEX
        inputs = [args[0], *tensors_of(args[2:3])]
    on_cpu = [each for each in inputs if devices.of(each) == CPU]
    if not any(each.dim() for each in on_cpu) and _takes_numbers(name, operation):
        written = inputs[:1] if operation._schema.is_mutable else []
        on_cpu = [each for each in written if devices.of(each) == CPU]
    return MIXTURE.format(devices.there) if on_cpu else None


def _takes_numbers(name: str, operation: Any) -> bool:
    return name in _TAKES_NUMBERS or (torch.Tag.pointwise in operation.tags and name not in _TAKES_NONE)


def _name(operation: Any) -> str:
    """Return the name of an operation of torch, such as "add_", without "aten::"."""
    name: str = operation._schema.name
    return name.removeprefix("aten::")
