"""Helpers for the exercises on leaf tensors."""

from __future__ import annotations

from torch import Tensor

from autograder.checking.values import Other

PAIR = Other("tuple")


def flags(name: str, value: object) -> dict[str, object]:
    """Return a dict with `is_leaf` and `requires_grad` of a tensor, under keys such as "w.is_leaf".

    `name` is the name of the tensor. Both values are None if `value` is no tensor.
    """
    tensor = value if isinstance(value, Tensor) else None
    return {
        f"{name}.is_leaf": None if tensor is None else tensor.is_leaf,
        f"{name}.requires_grad": None if tensor is None else tensor.requires_grad,
    }


def kind_of(value: object) -> object:
    """Return the type's name for a tensor, a pair and a function, else `value` itself.

    A list of two counts as a tuple. The name of a type is the same in all languages.
    """
    if isinstance(value, Tensor):
        return Other("Tensor")
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return PAIR
    return Other("function") if callable(value) else value


def grad_fn_name(tensor: Tensor) -> str | None:
    """Return the name of the node in `tensor.grad_fn`, or None if there is none."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()
