"""A second call of an answer between a call and its backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from .containment.refused import Refused
from .observe import using_answer


def call_with_other_numbers(earlier: object, function: Callable[..., object], *arguments: Any) -> object:
    """Call an answer with the sine of each tensor, and return the result. `earlier` is that of another call.

    A probe does so before it differentiates `earlier`, and holds the result until then. An answer that keeps outside of
    a call what the backward pass needs then computes with the wrong numbers.
    Raises Refused if the result is of another type than `earlier`.
    """
    with using_answer():
        result = function(*map(_other, arguments))
    if type(result) is not type(earlier):
        raise Refused("raised.second_call", first=type(earlier).__name__, second=type(result).__name__)
    return result


def _other(argument: object) -> object:
    if not isinstance(argument, Tensor) or not (argument.is_floating_point() or argument.is_complex()):
        return argument
    return argument.detach().sin().requires_grad_(argument.requires_grad)
