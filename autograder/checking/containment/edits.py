"""Detection of inputs that an answer has changed in place."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ..exercise import Case


def copy_tensors(case: Case) -> dict[str, list[torch.Tensor]]:
    """Return a dict from the name of each input to copies of its tensors.

    Modules and optimizers are not looked at, because an answer may change them.
    """
    return {
        name: [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in _tensors(value)]
        for name, value in vars(case).items()
    }


def find_edited(case: Case, before: dict[str, list[torch.Tensor]]) -> Iterator[str]:
    """Yield the names of the inputs whose tensors the answer changed.

    `before` is what `copy_tensors` returned before the answer ran.
    """
    for name, copies in before.items():
        tensors = list(_tensors(getattr(case, name, None)))
        if len(copies) != len(tensors) or not all(map(_same, copies, tensors)):
            yield name


def _same(old: torch.Tensor, new: torch.Tensor) -> bool:
    """Return whether two tensors have the same `requires_grad`, shape, device and numbers."""
    if (old.requires_grad, old.shape, old.device) != (new.requires_grad, new.shape, new.device):
        return False
    return old.is_meta or torch.equal(old.detach().nan_to_num(), new.detach().nan_to_num())


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
