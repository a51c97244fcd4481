"""Modules of the watched program."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence

import torch
from torch import nn


def named_parameters(models: Sequence[nn.Module]) -> dict[str, nn.Parameter]:
    """Return the parameters of all models by name. With several models, the class of the model stands before it."""
    found: dict[str, nn.Parameter] = {}
    for number, model in enumerate(models):
        own = dict(model.named_parameters())
        first = f"{type(model).__name__}." if len(models) > 1 else ""
        if any(f"{first}{name}" in found for name in own):
            first = f"{type(model).__name__}{number}."
        known = {id(each) for each in found.values()}
        found |= {f"{first}{name}": each for name, each in own.items() if id(each) not in known}
    return found


def find_models(parameters: Iterable[torch.Tensor]) -> list[nn.Module]:
    """Return the live modules that hold parameters and are part of no other module, the oldest first.

    Those that have none of `parameters` and no gradient are left out if others have: they belong to nobody's training.
    """
    modules = [each for each in gc.get_objects() if issubclass(type(each), nn.Module)]
    inside = {id(part) for each in modules for part in each.modules() if part is not each}
    wanted = {id(each) for each in parameters}
    roots = [each for each in modules if id(each) not in inside and any(True for _ in each.parameters())]
    return [each for each in roots if any(id(p) in wanted or p.grad is not None for p in each.parameters())] or roots


def is_wholly_in_eval(models: Sequence[nn.Module]) -> bool:
    """Return whether a model computes something else in training, and no part of it is in training mode."""
    for model in models:
        parts = [each for each in model.modules() if _depends_on_mode(each)]
        if parts and not model.training and not any(each.training for each in parts):
            return True
    return False


def _depends_on_mode(module: nn.Module) -> bool:
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    is_norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
    return is_norm and any(each.requires_grad for each in module.parameters())
