"""Helpers for the exercises on Functions under transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograder.checking.containment.caught import Caught, error_kind
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
        return Caught.of(error, error_kind(error))
