"""Helpers for the exercises on Functions under transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from autograder.checking.containment.caught import Caught, kind_of
from autograder.checking.containment.refused import Refused


def require_function(function: Any) -> None:
    """Raise Refused if the class `function` does not derive from `torch.autograd.Function`."""
    if not issubclass(function, torch.autograd.Function):
        raise Refused("raised.base", name=function.__name__, base="torch.autograd.Function")


def result_or_error(call: Callable[[], Any]) -> Any:
    """Return what `call()` returns, or the exception that it raises.

    Comparisons see the exception's class alone, because torch's versions word its message differently.
    Raises NotImplementedError if the call reaches a stub.
    """
    try:
        return call()
    except Exception as error:
        if isinstance(error, NotImplementedError) and not str(error):
            raise  # the stub's has no message, torch's have one
        return Caught.of(error, kind_of(error))


def one_tangent(apply: Any, x: Tensor, y: Tensor, tangent: Tensor, *, of_x: bool) -> object:
    """Return the tangent of the first output where one input alone has a tangent."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x if of_x else y, tangent)
        output = apply(dual, y) if of_x else apply(x, dual)
        return forward_ad.unpack_dual(output[0] if isinstance(output, tuple) else output).tangent
