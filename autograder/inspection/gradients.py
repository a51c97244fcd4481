"""Numbers of gradients, read without a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from .seen import Size


def holds_numbers(gradient: torch.Tensor | None) -> bool:
    """Return whether a gradient has an entry that is not 0."""
    if gradient is None or gradient.is_meta:
        return False
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return bool((gradient._values() if gradient.is_sparse else gradient).any())


def gradient_sizes(parameters: Mapping[str, torch.nn.Parameter]) -> tuple[Size, ...]:
    """Return the norm of each gradient, read in as few operations as possible. Sparse gradients are left out."""
    dense = {name: each.grad for name, each in parameters.items() if each.grad is not None}
    dense = {name: grad for name, grad in dense.items() if grad.layout == torch.strided and not grad.is_meta}
    if not dense:
        return ()
    with torch.no_grad(), torch._C.DisableTorchFunction():
        norms = torch._foreach_norm([*dense.values()])
        numbers = torch.stack([each.detach().double().cpu() for each in norms]).tolist()
    return tuple(
        Size(name, norm, parameters[name].dim(), math.isfinite(norm)) for name, norm in zip(dense, numbers, strict=True)
    )
