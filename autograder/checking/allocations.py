"""Bytes that torch's allocators hand out, from torch's own records of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import time_ns

import torch
from torch._C._autograd import _disable_profiler, _enable_profiler, _prepare_profiler, _profiler_enabled
from torch._C._profiler import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    RecordScope,
    _ExperimentalConfig,
    _ExtraFields_Allocation,
)

# Read when the profiler first runs. It would say on stderr that it starts, and that costs a graded cell its points.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

_CONFIG = ProfilerConfig(ProfilerState.KINETO, False, True, False, False, False, _ExperimentalConfig())
_ACTIVITIES = {ProfilerActivity.CPU}
_SCOPES = {RecordScope.USER_SCOPE}  # no ops: recorded as well, they take ten times as long as the allocations
SINGLE_NUMBER = 8  # bytes: torch makes a tensor of each Python number that an operation takes
_STATE = torch.get_rng_state().nbytes  # what a checkpoint keeps of the random generator
_CLOCKS = 100_000  # nanoseconds by which the profiler's clock may differ from `time_ns`


class ProfilerInterfered(RuntimeError):
    """torch's profiler, which counts bytes, was on already or was stopped meanwhile."""

    def __init__(self) -> None:
        super().__init__(
            "live_bytes needs torch's profiler for itself: stop it before, and leave it alone in the block"
        )


class LiveBytes:
    """Bytes allocated since the block began: alive `now`, and the most at any moment, `peak`."""

    def __init__(self) -> None:
        self._alive: dict[tuple[int, torch.device], int] = {}
        self._now = self._peak = 0
        self._started = (0, 0)
        self._running = False

    @property
    def now(self) -> int:
        """Bytes alive at this moment. Raises ProfilerInterfered if the profiler was stopped meanwhile."""
        self._read()
        return self._now

    @property
    def peak(self) -> int:
        """The most bytes alive at any moment so far. Raises ProfilerInterfered as `now` does."""
        self._read()
        return self._peak

    def _start(self) -> None:
        earliest = time_ns()
        _start()
        self._started, self._running = (earliest, time_ns()), True

    def _read(self) -> None:
        if self._running:
            self._stop()
            self._start()

    def _stop(self) -> None:
        """Add up what was recorded since the start. Frees of what was allocated before the block are among it."""
        self._running = False
        if not _profiler_enabled():
            raise ProfilerInterfered
        recorded = _disable_profiler()
        earliest, latest = self._started
        if not earliest - _CLOCKS <= recorded.trace_start_ns() <= latest + _CLOCKS:
            raise ProfilerInterfered
        for event in recorded.experimental_event_tree():
            allocation = event.extra_fields
            if not isinstance(allocation, _ExtraFields_Allocation):
                continue
            key, size = (allocation.ptr, allocation.device), allocation.alloc_size
            if size > SINGLE_NUMBER and size != _STATE:
                self._alive[key] = size
                self._now += size
                self._peak = max(self._peak, self._now)
            elif size < 0:
                self._now -= self._alive.pop(key, 0)


@contextmanager
def live_bytes() -> Iterator[LiveBytes]:
    """Measure the bytes of tensors that the block makes, by the records that torch's profiler keeps of allocations.

    Sees what the graph keeps (also `ctx` attributes and closures), gradients, intermediates and scratch memory of
    kernels. Does not see: what was allocated before, arrays of NumPy's own, other threads, single numbers, the state
    of the random generator that a checkpoint keeps. Drop `.grad` first, or gradients are missed.
    Raises ProfilerInterfered if torch's profiler is on before or is stopped meanwhile.
    """
    if _profiler_enabled():
        raise ProfilerInterfered
    live = LiveBytes()
    live._start()
    try:
        yield live
    finally:
        live._stop()


@contextmanager
def without_profiler() -> Iterator[bool]:
    """Stop torch's profiler if it is on, and start it again. Yields whether it was; its records are lost."""
    on = _profiler_enabled()
    stop_profiler()
    try:
        yield on
    finally:
        if on:
            _start()


def stop_profiler() -> bool:
    """Stop torch's profiler; return whether it was on."""
    on: bool = _profiler_enabled()
    if on:
        _disable_profiler()
    return on


def _start() -> None:
    _prepare_profiler(_CONFIG, _ACTIVITIES)
    _enable_profiler(_CONFIG, _ACTIVITIES, _SCOPES)  # type: ignore[call-arg]  # the stub lacks the scopes
