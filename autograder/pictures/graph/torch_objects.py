"""Inspection of torch's objects without side effects and without errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

LEAF = "AccumulateGrad"  # the type of the node of a leaf
_T = TypeVar("_T")


@contextmanager
def unnoticed() -> Iterator[None]:
    """Switch off grad mode inside the `with` block.

    Operations in the `with` block are also hidden from the learner's modes and tensor subclasses.
    """
    with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


def safely(look: Callable[[], _T]) -> _T | None:
    """Return the result of `look()`, or None if the call raises."""
    try:
        return look()
    except Exception:
        return None


def variable_of(node: Any) -> torch.Tensor | None:
    """Return the leaf of an AccumulateGrad node, or None for any other node."""
    variable = safely(lambda: node.variable) if type(node).__name__ == LEAF else None
    return variable if isinstance(variable, torch.Tensor) else None


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor, or of an output as a node describes it. Returns () for nested tensors."""
    return safely(lambda: tuple(int(size) for size in tensor.shape)) or ()


def dtype_of(tensor: Any) -> str:
    """Return the name of the dtype of a tensor, such as "float32". Also works for a node's metadata of an output."""
    return str(tensor.dtype).removeprefix("torch.")


def name_of(function: Any) -> str:
    """Return the name of a hook function, without the names of enclosing functions. Never raises."""
    try:
        inner = getattr(function, "func", function)  # unwraps a partial
        name = str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)
        if str(getattr(inner, "__module__", "")).startswith("torch."):
            return name.partition(".")[0].strip("_")  # such as save_on_cpu.__init__.<locals>.unpack_from_cpu
        return name.rpartition("<locals>.")[2]
    except Exception:
        return "?"


def is_hollow(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has no numbers of its own: on meta, nested, or a FakeTensor, DTensor or MaskedTensor.

    torch would crash if it read them while the tensor's class is switched off.
    """
    if tensor._is_zerotensor():  # zeros without memory, such as the derivative of `sgn`
        return False
    if tensor.is_meta or tensor.is_nested or tensor.layout != torch.strided:
        return tensor.is_meta or tensor.is_nested
    try:
        return tensor.untyped_storage().data_ptr() == 0 and tensor.numel() != 0
    except RuntimeError:  # torch refuses to give the address
        return True


def is_number(tensor: torch.Tensor) -> bool:
    """Return whether torch made this tensor from a Python number.

    torch saves such tensors without calling saved-tensor hooks. They are recognised by type promotion: a number
    combined with a tensor of a smaller dtype gives the smaller dtype.
    """
    smaller = {torch.float64: torch.float32, torch.int64: torch.int32, torch.complex128: torch.complex64}
    if tensor.dim() or tensor.dtype not in smaller:
        return False
    other = torch.empty((), dtype=smaller[tensor.dtype], device=tensor.device)
    return torch.result_type(tensor, other) == other.dtype


def brief(tensor: torch.Tensor) -> str | None:
    """Return a tensor as text: up to three numbers, or else the norm.

    Returns None if the values cannot be read, as on meta and in wrappers of other tensors.
    """
    return safely(lambda: _brief(tensor.detach()))


def _brief(tensor: torch.Tensor) -> str | None:
    if is_hollow(tensor):
        return None
    if tensor._is_zerotensor():
        tensor = tensor.clone()
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
    """Return a dict with the names of the hooks registered on `tensors`.

    A key is the position in `nodes` of the node that made a tensor. The value is the list of names of the tensor's
    hooks.
    """
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

    `handles` belong to the caller's own hooks on that node. torch gives access to a node's hooks only through such
    handles.
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
    """Return the node and the number of its output that made `tensor`, or None if torch refuses."""
    return safely(lambda: torch.autograd.graph.get_gradient_edge(tensor))
