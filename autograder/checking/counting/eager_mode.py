"""Dispatch modes that do not import torch's compiler."""

from __future__ import annotations

import sys
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class EagerMode(TorchDispatchMode):
    """Dispatch mode whose first operation is as fast as any other.

    Torch wraps each mode's `__torch_dispatch__`, so that its compiler leaves it alone. The wrapper imports the compiler
    at the first operation, which takes 1.1 s. Before anybody has imported it, nothing can be compiled.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        plain = cls.__dict__["__torch_dispatch__"]
        super().__init_subclass__(**more)  # type: ignore[no-untyped-call]
        wrapped = cls.__torch_dispatch__

        def dispatch(self: EagerMode, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            chosen = wrapped if "torch._dynamo" in sys.modules else plain
            return chosen(self, func, types, args, kwargs)

        cls.__torch_dispatch__ = dispatch  # type: ignore[method-assign, assignment]
