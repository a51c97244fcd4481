"""Inputs and results of runs in which work is counted.

A probe counts work or memory, often in a run with inputs of its own. An answer could recognise such a run and do
nothing. The inputs therefore differ from seed to seed, and the result is observed as `AtMost.of`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from .values import canonical


def number_from(tensor: Tensor) -> float:
    """Return a number in [0, 1] that depends on the entries of an input."""
    return float(tensor.detach().double().sum().sin().square())


def fill(module: Module, number: float) -> Module:
    """Fill the parameters of `module` with cosines, in an order that starts at `number`; return `module`."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(_cosines(parameter, number) / 2)
    return module


def condense(value: object) -> Any:
    """Return a result as plain data, with two sums in place of each tensor.

    The first sum has weights, the second is that of the magnitudes.
    """
    value = canonical(value)
    if isinstance(value, Tensor):
        entries = value.detach().double()
        return torch.stack([(entries * _cosines(entries)).sum(), entries.abs().sum()])
    if isinstance(value, list):
        return [condense(item) for item in value]
    if isinstance(value, dict):
        return {name: condense(item) for name, item in value.items()}
    return value


def _cosines(tensor: Tensor, start: float = 0.0) -> Tensor:
    return torch.arange(tensor.numel(), dtype=torch.float64).add_(start).cos_().view(tensor.shape)
