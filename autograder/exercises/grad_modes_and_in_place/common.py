"""Helpers for the exercises on grad modes and in-place edits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from autograder.checking.inputs import signed, uniform

EDIT_ERROR = "has been modified by an inplace operation"  # from torch's error message


def randomized(module: Module, rng: torch.Generator, dtype: torch.dtype = torch.float64) -> Any:
    """Return `module` in `dtype`, with random parameters and buffers. Every `.grad` is filled with 100."""
    module.to(dtype)
    parameters = list(module.parameters())
    sizes = [parameter.numel() for parameter in parameters]
    with torch.no_grad():
        for parameter, numbers in zip(parameters, (signed(rng, sum(sizes)) / 2).split(sizes)):
            parameter.copy_(numbers.view_as(parameter))
            parameter.grad = torch.full_like(parameter, 100.0)
        for buffer in module.buffers():
            if buffer.is_floating_point():
                buffer.copy_(uniform(rng, *buffer.shape))
    return module


def flags(model: Module, called: str = "model") -> dict[str, object]:
    """Return which parameters of `model` require grad and which of its modules are in training mode.

    The result is a dict from the name of a parameter or module to a boolean. `called` is the name for `model` itself.
    """
    learns = {f"{name}.requires_grad": parameter.requires_grad for name, parameter in model.named_parameters()}
    trains = {f"{name or called}.training": module.training for name, module in model.named_modules()}
    return learns | trains


def weights_of(model: Module) -> dict[str, Tensor]:
    """Return a dict from name to copy of each parameter of `model`."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def gradients_of(model: Module) -> dict[str, Tensor | None]:
    """Return a dict from a name such as "weight.grad" to the `.grad` of each parameter of `model`."""
    return {f"{name}.grad": parameter.grad for name, parameter in model.named_parameters()}
