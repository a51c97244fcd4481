"""What `plot_jacobian` is given, as matrices and vectors of float64, or why these cannot be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...language import Note
from ..looking import dtype_of
from ..saying import error_said, shape
from .plot import short
from .ways import failure

ENTRIES = 2500  # of a matrix: more are specks


def given_matrix(matrix: Any) -> torch.Tensor | Note:
    """The matrix of shape (m, n) that was given."""
    if not isinstance(matrix, torch.Tensor):
        return Note("jacobian.what", {"got": type(matrix).__name__})
    if matrix.dim() != 2 or matrix.numel() == 0:
        return Note("jacobian.matrix", {"shape": shape(matrix.shape)})
    if matrix.is_complex():
        return Note("jacobian.complex", {"name": "J"})
    return checked("J", matrix)


def jacobian_at(function: Callable[[torch.Tensor], Any], x: Any) -> torch.Tensor | Note:
    """The Jacobian of `function` at `x`, of shape (m, n)."""
    if x is None:
        return Note("jacobian.no_x", {})
    if not isinstance(x, torch.Tensor):
        return Note("jacobian.what", {"got": type(x).__name__})
    if x.is_complex():
        return Note("jacobian.complex", {"name": "x"})
    if not x.is_floating_point():
        return Note("jacobian.integers", {"name": "x", "dtype": dtype_of(x)})
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            point = x.detach().clone().requires_grad_()
            y = function(point)
            if not isinstance(y, torch.Tensor):
                return Note("jacobian.not_tensor", {"got": type(y).__name__})
            if y.is_complex():
                return Note("jacobian.complex", {"name": "f(x)"})
            if not y.requires_grad:
                return Note("jacobian.constant", {})
            size = (y.numel(), x.numel())
            if not 0 < y.numel() * x.numel() <= ENTRIES:
                return _large(size) if all(size) else Note("jacobian.matrix", {"shape": shape(size)})
            rows = jacobian_rows(y, point)
    except Exception as error:  # it is the learner's function
        return failure("plot_jacobian", error)
    return checked("J", rows)


def jacobian_rows(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The Jacobian of `y`, computed from `x`, of shape (m, n): one product vᵀJ for each row, with v that picks it."""
    return torch.stack(
        [torch.autograd.grad(entry, x, retain_graph=True, materialize_grads=True)[0].flatten() for entry in y.flatten()]
    )


def given_vector(name: str, given: Any, wanted: int, matrix: torch.Tensor) -> torch.Tensor | Note:
    """The `wanted` numbers that were given as argument `name`, for a side of `matrix`."""
    if not isinstance(given, torch.Tensor) or given.is_complex():
        got = dtype_of(given) if isinstance(given, torch.Tensor) else type(given).__name__
        return Note("jacobian.vector", {"name": name, "got": got})
    if given.numel() != wanted:
        size = {"got": given.numel(), "shape": shape(matrix.shape), "wanted": wanted}
        return Note(f"jacobian.{name}.shape", size)
    return checked(name, given.flatten())


def checked(name: str, tensor: torch.Tensor) -> torch.Tensor | Note:
    """In float64, if it can be shown. `name` is what to call it where it cannot."""
    if tensor.numel() > ENTRIES:
        return _large(tensor.shape)
    try:
        dense = tensor.detach() if tensor.layout is torch.strided else tensor.detach().to_dense()
        plain = dense.to("cpu", torch.float64)
        strange = (~plain.isfinite()).nonzero().tolist()
    except (RuntimeError, NotImplementedError) as error:
        return Note("jacobian.unreadable", {"name": name, "error": short(error_said(error), 120)})
    if strange:
        return Note("jacobian.not_finite", {"name": name, "count": len(strange), "place": strange[0]})
    return plain


def _large(size: Sequence[int]) -> Note:
    return Note("jacobian.large", {"shape": shape(size), "most": ENTRIES})
