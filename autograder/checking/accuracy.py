"""Relative errors of tensors, and limits on them."""

from __future__ import annotations

import math

from torch import Tensor

from .values import AtMost


def relative_error(truth: Tensor, got: object) -> float:
    """Return the largest error of `got`, divided by the largest entry of `truth`.

    The error is infinite if `got` is not a tensor of the same shape.
    """
    if not isinstance(got, Tensor) or got.shape != truth.shape:
        return math.inf
    error, largest = (got.detach() - truth).abs().max().item(), truth.abs().max().item()
    return error / largest if largest else math.inf if error else 0.0


def limited_error(limit: float, error: float) -> AtMost:
    """Return a relative error with a limit. An error that is infinite or NaN counts as 1."""
    return AtMost(limit=limit, used=error if error < 1 else 1.0)
