"""Helpers for the exercises on Functions under transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.containment.caught import Caught, kind_of
from autograder.checking.containment.refused import Refused


def require_function(function: Any) -> None:
    """Raise Refused if the class `function` does not derive from `torch.autograd.Function`."""
    if not issubclass(function, torch.autograd.Function):
        raise Refused("raised.base", name=function.__name__, base="torch.autograd.Function")


def result_or_error(call: Callable[[], Any]) -> Any:
    """Return what `call()` returns, or the exception that it raises.

    Comparisons see the exception's class alone, because torch's versions word its message differently.
    """
    try:
        return call()
    except Exception as error:
        return Caught.of(error, kind_of(error))


class Products(TorchDispatchMode):
    """The dtypes in which matrix products are computed in a `with` block."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes = set[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm):
            self.dtypes.add(str(result.dtype))
        return result

    @property
    def text(self) -> str:
        return ", ".join(sorted(self.dtypes))
