"""Look at torch's objects without being noticed, and without an error where torch refuses to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

_T = TypeVar("_T")


@contextmanager
def unnoticed() -> Iterator[None]:
    """No graph is made, and no mode or subclass of the learner's sees what is asked or computed here."""
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


def safely(look: Callable[[], _T]) -> _T | None:
    """What `look` returns; None when torch refuses to tell."""
    try:
        return look()
    except Exception:
        return None


def variable_of(node: Any) -> torch.Tensor | None:
    """The leaf whose `.grad` an AccumulateGrad node adds to; None of any other node."""
    variable = safely(lambda: node.variable) if type(node).__name__ == "AccumulateGrad" else None
    return variable if isinstance(variable, torch.Tensor) else None


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Sizes; none of a nested tensor, whose sizes are not one shape."""
    try:
        return tuple(int(size) for size in tensor.shape)
    except RuntimeError:
        return ()


def dtype_of(tensor: Any) -> str:
    """The dtype of a tensor, or of what a node says of one: such as float32."""
    return str(tensor.dtype).removeprefix("torch.")


def name_of(function: Any) -> str:
    """A name for a hook: what the learner wrote, without the functions around it; never raises."""
    try:
        inner = getattr(function, "func", function)  # a partial
        name = str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)
        if str(getattr(inner, "__module__", "")).startswith("torch."):
            return name.partition(".")[0].strip("_")  # save_on_cpu.__init__.<locals>.unpack_from_cpu
        return name.rpartition("<locals>.")[2]
    except Exception:
        return "?"


def is_number(tensor: torch.Tensor) -> bool:
    """Is this the tensor that torch made of a Python number? It saves those, too, past all hooks.

    Nothing says so but the way types promote: a number gives way to a tensor of a smaller type of its kind.
    """
    smaller = {torch.float64: torch.float32, torch.int64: torch.int32, torch.complex128: torch.complex64}
    if tensor.dim() or tensor.dtype not in smaller:
        return False
    other = torch.empty((), dtype=smaller[tensor.dtype], device=tensor.device)
    return torch.result_type(tensor, other) == other.dtype


def brief(tensor: torch.Tensor) -> str | None:
    """At most three numbers, else the norm; None when the values cannot be read (a meta tensor has none)."""
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
    """Names of the hooks on `tensors` for each of `nodes`, by its position, whose outputs they are."""
    ids = {node: index for index, node in enumerate(nodes)}
    hooks: dict[int, list[str]] = {}
    for tensor in tensors:
        found = tensor._backward_hooks or {}
        edge = edge_of(tensor) if found else None
        if edge is not None and edge.node in ids:
            hooks.setdefault(ids[edge.node], []).extend(name_of(hook) for hook in found.values())
    return hooks


def hooks_beside(*handles: Any) -> Callable[[], list[str]]:
    """Names of the other hooks of a node, asked for later: torch tells of them only by the dictionary in which it has
    put one's own."""

    def names() -> list[str]:
        return [
            name_of(hook)
            for handle in handles
            for id, hook in (handle.hooks_dict_ref() or {}).items()
            if id != handle.id
        ]

    return names


def edge_of(tensor: torch.Tensor) -> torch.autograd.graph.GradientEdge | None:
    """The node and output that made `tensor`; None where torch refuses to tell."""
    return safely(lambda: torch.autograd.graph.get_gradient_edge(tensor))
