"""Comparison of a learner's functions by the tensors that they make.

Each function takes one argument. Random state and buffers of modules are restored after each run.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from ...checking.counting.allocations import SINGLE_NUMBER
from ...checking.counting.eager_mode import EagerMode
from ...language import Note
from ...measure import tensors
from ..text_form import error_said
from .base import short

MOST = 6  # functions in one plot


def why_not_compared(command: str, ways: Sequence[Any]) -> Note | None:
    """Return a note on why the functions `ways` cannot be compared, or None.

    `command` is the name of the plot command.
    """
    if not ways:
        return Note("ways.none", {"command": command})
    for way in ways:
        if not callable(way):
            return Note("ways.not_function", {"command": command, "got": short(repr(way))})
    if len(ways) > MOST:
        return Note("ways.many", {"count": len(ways), "most": MOST})
    return None


def names(ways: Sequence[Any]) -> list[str]:
    """Return names for the functions `ways`. A number is added to a repeated name."""
    found: list[str] = []
    for way in ways:
        while isinstance(way, functools.partial):
            way = way.func
        name = short(getattr(way, "__name__", type(way).__name__), 24)
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found


def failure(command: str, error: Exception) -> Note:
    """Return a note which says that the learner's function raised `error`.

    `command` is the name of the plot command.
    """
    return Note("failed", {"command": command, "error": short(error_said(error), 200)})


_identity = object.__hash__  # like `id`, but raises no audit event, for which graded notebooks have a hook


class Trace:
    """Bytes of the tensor storages that operations make, over time.

    `now` is the number of bytes alive, `peak` its maximum so far. `samples` holds the value of `now` after each
    operation, `settled` its value just before the next operation. `label` is stored with each new storage; the traced
    code may set it. `last_op` is the name of the latest operation.
    """

    def __init__(self) -> None:
        self.now = self.peak = 0
        self.label = ""
        self.samples: list[int] = []
        self.settled: list[int] = []
        self.last_op = ""
        self._labels: dict[int, tuple[str, int]] = {}

    def __contains__(self, storage: torch.UntypedStorage) -> bool:
        return _identity(storage) in self._labels

    def made(self, storage: torch.UntypedStorage) -> None:
        """Count a new storage until Python and C++ have released it."""
        key, size = _identity(storage), storage.nbytes()
        self._labels[key] = (self.label, size)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._freed, key, size)

    def _freed(self, key: int, size: int) -> None:
        self._labels.pop(key, None)
        self.now -= size

    def bytes_of(self) -> dict[str, int]:
        """Return a dict from label to the bytes alive now. The label is the one set when a storage was made."""
        found: dict[str, int] = {}
        for label, size in self._labels.values():
            found[label] = found.get(label, 0) + size
        return found


class _TraceMode(EagerMode):
    """A dispatch mode that adds the results of operations to a `Trace`."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trace = trace

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        trace, kwargs = self.trace, kwargs or {}
        if trace.samples:
            trace.settled.append(trace.now)
        # The storage of `torch.tensor(list)` first appears as the argument of lift_fresh, so it counts as new there.
        born_outside = () if func._schema.name == "aten::lift_fresh" else tensors((args, kwargs))
        inputs = {_identity(tensor.untyped_storage()) for tensor in born_outside}
        result = func(*args, **kwargs)
        for tensor in tensors(result):
            storage = tensor.untyped_storage()
            known = storage in trace or _identity(storage) in inputs
            if storage.nbytes() > SINGLE_NUMBER and not known and not tensor._is_zerotensor():
                trace.made(storage)
        trace.samples.append(trace.now)
        trace.last_op = func._schema.name
        return result


@contextmanager
def traced(modules: Sequence[torch.nn.Module] = ()) -> Iterator[Trace]:
    """Record the operations of the `with` block in a `Trace`, and yield the `Trace`.

    Random state and the buffers of `modules` are restored after the `with` block.
    """
    trace = Trace()
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(torch.enable_grad())
        for module in modules:
            stack.enter_context(_own_buffers(module))
        stack.enter_context(_TraceMode(trace))
        yield trace


@contextmanager
def _own_buffers(module: torch.nn.Module) -> Iterator[None]:
    """Let a module work on copies of its buffers inside the `with` block.

    Batch norm, for example, writes statistics to its buffers.
    """
    before = [(part, dict(part._buffers)) for part in module.modules()]
    for part, buffers in before:
        part._buffers.update({name: None if held is None else held.clone() for name, held in buffers.items()})
    try:
        yield
    finally:
        for part, buffers in before:
            part._buffers.clear()
            part._buffers.update(buffers)
