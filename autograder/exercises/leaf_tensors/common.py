"""Helpers shared by the exercises on leaf tensors."""

from __future__ import annotations

from torch import Tensor


def flags(name: str, value: object) -> dict[str, object]:
    """Return `is_leaf` and `requires_grad` of the tensor called `name`, or None for both if it is no tensor."""
    tensor = value if isinstance(value, Tensor) else None
    return {
        f"{name}.is_leaf": None if tensor is None else tensor.is_leaf,
        f"{name}.requires_grad": None if tensor is None else tensor.requires_grad,
    }


def kind_of(value: object) -> object:
    """Return a word for a tensor, a function or a pair. Any other value is returned as it is."""
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return "a pair"
    return "a function" if callable(value) else value


def grad_fn_name(tensor: Tensor) -> str | None:
    """Return the name of a tensor's `grad_fn`, or None."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()
