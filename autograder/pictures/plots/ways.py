"""Ways of computing the same, run with everything around them put back: functions of one argument, side by side."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from ...language import Note
from ...measure import LiveBytes, LiveBytesMode, identity
from ..saying import error_said
from .plot import short

MOST = 6  # ways in one plot


def refusal(command: str, ways: Sequence[Any]) -> Note | None:
    """Why these cannot be compared, if they cannot."""
    if not ways:
        return Note("ways.none", {"command": command})
    for way in ways:
        if not callable(way):
            return Note("ways.not_function", {"command": command, "got": short(repr(way))})
    if len(ways) > MOST:
        return Note("ways.many", {"count": len(ways), "most": MOST})
    return None


def names(ways: Sequence[Any]) -> list[str]:
    """What to call the ways: two of the same name are numbered."""
    found: list[str] = []
    for way in ways:
        while isinstance(way, functools.partial):
            way = way.func
        name = short(getattr(way, "__name__", type(way).__name__), 24)
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found


def failure(command: str, error: Exception) -> Note:
    """The learner's function ended with `error`."""
    return Note("failed", {"command": command, "error": short(error_said(error), 200)})


class Trace(LiveBytes):
    """Live bytes with a story: `bytes_of` says by label what is alive, `samples` has all of it after each op, `settled`
    what is left of it just before the next one.

    `label` is for whoever runs the ops to change on the way; `last_op` is the name of the latest one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.label = ""
        self.samples: list[int] = []
        self.settled: list[int] = []
        self.last_op = ""
        self._labels: dict[int, tuple[str, int]] = {}

    def made(self, storage: torch.UntypedStorage) -> None:
        self._labels[identity(storage)] = (self.label, storage.nbytes())
        super().made(storage)

    def freed(self, key: int, size: int) -> None:
        self._labels.pop(key, None)
        super().freed(key, size)

    def bytes_of(self) -> dict[str, int]:
        """Bytes alive now, by the label under which they were made."""
        found: dict[str, int] = {}
        for label, size in self._labels.values():
            found[label] = found.get(label, 0) + size
        return found


class _TraceMode(LiveBytesMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert isinstance(self.live, Trace)
        if self.live.samples:
            self.live.settled.append(self.live.now)
        result = super().__torch_dispatch__(func, types, args, kwargs)
        self.live.samples.append(self.live.now)
        self.live.last_op = func._schema.name
        return result


@contextmanager
def traced(modules: Sequence[torch.nn.Module] = ()) -> Iterator[Trace]:
    """Trace the ops of the block. Random numbers and the buffers of `modules` are as before afterwards."""
    trace = Trace()
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[]))
        stack.enter_context(torch.enable_grad())
        for module in modules:
            stack.enter_context(_own_buffers(module))
        stack.enter_context(_TraceMode(trace, ()))
        yield trace


@contextmanager
def _own_buffers(module: torch.nn.Module) -> Iterator[None]:
    """Batch norm counts what it has seen in buffers: here it counts in copies."""
    before = [(part, dict(part._buffers)) for part in module.modules()]
    for part, buffers in before:
        part._buffers.update({name: None if held is None else held.clone() for name, held in buffers.items()})
    try:
        yield
    finally:
        for part, buffers in before:
            part._buffers.clear()
            part._buffers.update(buffers)
