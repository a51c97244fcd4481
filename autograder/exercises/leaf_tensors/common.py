"""Parts shared by the exercises on leaf tensors."""

from __future__ import annotations

from torch import Tensor


def flags(name: str, value: object) -> dict[str, object]:
    """Where the tensor called `name` stands in the graph, as far as its flags tell."""
    tensor = value if isinstance(value, Tensor) else None
    return {
        f"{name}.is_leaf": None if tensor is None else tensor.is_leaf,
        f"{name}.requires_grad": None if tensor is None else tensor.requires_grad,
    }


def kind(value: object) -> object:
    """A word for any tensor, for a function and for a pair; whatever else came back stands for itself."""
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return "a pair"
    return "a function" if callable(value) else value


def creator(tensor: Tensor) -> str | None:
    """The name of a tensor's `grad_fn`."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()
