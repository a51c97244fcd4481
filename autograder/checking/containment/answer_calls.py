"""Answers with something around each of their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .refused import Refused


def can_be_called(answer: object) -> bool:
    """Return whether calls of an answer can be replaced: it is a function or a custom Function."""
    return callable(answer) and (not isinstance(answer, type) or issubclass(answer, torch.autograd.Function))


def with_calls(answer: Any, replaced: Callable[[Callable[..., object]], Callable[..., object]]) -> Any:
    """Return an answer that is called by `replaced(call)`, where `call` is its own function.

    Of a custom Function it is `apply`, and the result is a class derived from it.
    """
    if not isinstance(answer, type):
        return replaced(answer)
    return type(answer.__name__, (answer,), {"apply": staticmethod(replaced(answer.apply))})  # type: ignore[attr-defined]


def call_with_other_numbers(earlier: object, function: Callable[..., object], *arguments: Any) -> object:
    """Call an answer with the sine of each tensor, and return the result. `earlier` is that of another call.

    A probe does so before it differentiates `earlier`, and holds the result until then. An answer that keeps outside of
    a call what the backward pass needs then computes with the wrong numbers.
    Raises Refused if the result is of another type than `earlier`.
    """
    result = function(*map(_other, arguments))
    if type(result) is not type(earlier):
        raise Refused("raised.second_call", first=type(earlier).__name__, second=type(result).__name__)
    return result


def _other(argument: object) -> object:
    if not isinstance(argument, Tensor) or not (argument.is_floating_point() or argument.is_complex()):
        return argument
    return argument.detach().sin().requires_grad_(argument.requires_grad)
