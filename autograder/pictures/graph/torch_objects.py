"""Inspection of torch's objects without side effects or errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

_T = TypeVar("_T")


@contextmanager
def unnoticed() -> Iterator[None]:
    """Disable graphs for the block, and hide it from the learner's modes and subclasses."""
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


def safely(look: Callable[[], _T]) -> _T | None:
    """Return the result of `look`, or None if torch refuses."""
    try:
        return look()
    except Exception:
        return None


def variable_of(node: Any) -> torch.Tensor | None:
    """Return the leaf of an AccumulateGrad node, or None for any other node."""
    variable = safely(lambda: node.variable) if type(node).__name__ == "AccumulateGrad" else None
    return variable if isinstance(variable, torch.Tensor) else None


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the sizes of a tensor, or () for a nested tensor, as its sizes form no single shape."""
    try:
        return tuple(int(size) for size in tensor.shape)
    except RuntimeError:
        return ()


def dtype_of(tensor: Any) -> str:
    """Return the dtype of a tensor, or of a node's metadata of one, such as "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def name_of(function: Any) -> str:
    """Return a name for a hook: the learner's own, without enclosing functions. Never raises."""
    try:
        inner = getattr(function, "func", function)  # unwraps a partial
        name = str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)
        if str(getattr(inner, "__module__", "")).startswith("torch."):
            return name.partition(".")[0].strip("_")  # such as save_on_cpu.__init__.<locals>.unpack_from_cpu
        return name.rpartition("<locals>.")[2]
    except Exception:
        return "?"


def is_number(tensor: torch.Tensor) -> bool:
    """Return whether torch made this tensor of a Python number. torch saves such tensors, too, bypassing all hooks.

    Only type promotion reveals it: a number yields to a tensor of a smaller type of its kind.
    """
    smaller = {torch.float64: torch.float32, torch.int64: torch.int32, torch.complex128: torch.complex64}
    if tensor.dim() or tensor.dtype not in smaller:
        return False
    other = torch.empty((), dtype=smaller[tensor.dtype], device=tensor.device)
    return torch.result_type(tensor, other) == other.dtype


def brief(tensor: torch.Tensor) -> str | None:
    """Return at most three numbers, else the norm. None if the values cannot be read, as in a meta tensor."""
    return safely(lambda: _brief(tensor.detach()))


def _brief(tensor: torch.Tensor) -> str | None:
    if tensor.is_meta:
        return None
    if tensor.layout != torch.strided or tensor.is_quantized:
        tensor = tensor.dequantize() if tensor.is_quantized else tensor.to_dense()
    if is_number(tensor):
        return f"{tensor.item():.6g}"
    if tensor.numel() > 3:
        wide = torch.complex128 if tensor.is_complex() else torch.float64
        return f"‖·‖ = {torch.linalg.vector_norm(tensor, dtype=wide).item():.4g}"
    return _rounded(tensor.tolist()) if tensor.is_floating_point() else str(tensor.tolist())


def _rounded(value: Any) -> str:
    return f"[{', '.join(_rounded(item) for item in value)}]" if isinstance(value, list) else f"{value:.4g}"


def hooks_on_tensors(tensors: Sequence[torch.Tensor], nodes: Sequence[Any]) -> dict[int, list[str]]:
    """Return the names of the hooks on `tensors`, by position of the node in `nodes` that made the tensor."""
    ids = {node: index for index, node in enumerate(nodes)}
    hooks: dict[int, list[str]] = {}
    for tensor in tensors:
        found = tensor._backward_hooks or {}
        edge = edge_of(tensor) if found else None
        if edge is not None and edge.node in ids:
            hooks.setdefault(ids[edge.node], []).extend(name_of(hook) for hook in found.values())
    return hooks


def hooks_beside(*handles: Any) -> Callable[[], list[str]]:
    """Return a function that lists the names of a node's other hooks.

    torch reveals them only through the dictionary that holds one's own hooks, which `handles` refer to.
    """

    def names() -> list[str]:
        return [
            name_of(hook)
            for handle in handles
            for id, hook in (handle.hooks_dict_ref() or {}).items()
            if id != handle.id
        ]

    return names


def edge_of(tensor: torch.Tensor) -> torch.autograd.graph.GradientEdge | None:
    """Return the node and output that made `tensor`, or None if torch refuses."""
    return safely(lambda: torch.autograd.graph.get_gradient_edge(tensor))
