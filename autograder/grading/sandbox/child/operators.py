"""Detection of operators that `torch.library` has replaced in torch's dispatcher."""

from __future__ import annotations

from torch._C import _dispatch_dump

from ..wire.channel import bind_methods

# Operators with which our code decides yes or no in a child. Numbers are judged outside.
_DECIDING = ("all", "all.dim", "allclose", "any", "any.dim", "eq.Scalar", "eq.Tensor", "equal", "isclose", "isfinite")


class Operators:
    """A detector of replaced operators, created in the fork server.

    A comparison takes 0.3 ms.
    """

    def __init__(self) -> None:
        self._dump = _dispatch_dump
        self._were = {f"aten::{name}": _dispatch_dump(f"aten::{name}") for name in _DECIDING}
        bind_methods(self)

    def changed(self) -> list[str]:
        """Return the names of the operators whose kernels are not those of the fork server."""
        return [name for name, was in self._were.items() if self._dump(name) != was]
