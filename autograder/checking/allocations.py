"""Byte counts of torch's allocators, read from the profiler's records."""

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

_CONFIG = ProfilerConfig(ProfilerState.KINETO, False, True, False, False, False, _ExperimentalConfig())
_ACTIVITIES = {ProfilerActivity.CPU}
_SCOPES = {RecordScope.USER_SCOPE}  # no ops: recording them takes ten times as long as recording allocations
SINGLE_NUMBER = 8  # bytes; torch makes a tensor of each Python number that an operation takes
_STATE = torch.get_rng_state().nbytes  # bytes of the random state that a checkpoint saves
_CLOCKS = 100_000  # largest difference in ns between the profiler's clock and `time_ns`


class ProfilerInterfered(RuntimeError):
    """A conflict over torch's profiler.

    It was already on when the block began, or was stopped meanwhile.
    """

    def __init__(self) -> None:
        super().__init__(
            "live_bytes needs torch's profiler for itself: stop it before, and leave it alone in the block"
        )


class LiveBytes:
    """Bytes allocated since the block began: alive `now`, and the maximum, `peak`."""

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
        """Maximum of the bytes alive so far. Raises ProfilerInterfered if the profiler was stopped meanwhile."""
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
        """Add up the events recorded since the start.

        The records include frees of memory that was allocated before the block. They are ignored.
        Raises ProfilerInterfered if the profiler was stopped or restarted meanwhile.
        """
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
    """Measure the bytes of tensors that the block makes, from the allocation records of torch's profiler.

    Counts memory kept by the graph (including `ctx` attributes and closures), gradients, intermediates and the scratch
    memory of kernels. Does not count earlier allocations, NumPy's own arrays, other threads, single numbers, and the
    random state that a checkpoint saves. Drop `.grad` first, or gradients are missed.
    Raises ProfilerInterfered if torch's profiler is already on or is stopped meanwhile.
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
    """Stop torch's profiler if it is on, and restart it afterwards. Its records are lost.

    Yields whether it was on.
    """
    on = _profiler_enabled()
    stop_profiler()
    try:
        yield on
    finally:
        if on:
            _start()


def stop_profiler() -> bool:
    """Stop torch's profiler and return whether it was on."""
    on: bool = _profiler_enabled()
    if on:
        _disable_profiler()
    return on


def _start() -> None:
    # torch reads this when the profiler first runs. Otherwise the profiler reports its start on stderr, and nbgrader
    # gives 0 points to a graded cell with stderr output. A sandbox clears the environment after imports.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    _prepare_profiler(_CONFIG, _ACTIVITIES)
    _enable_profiler(_CONFIG, _ACTIVITIES, _SCOPES)  # type: ignore[call-arg]  # the stub lacks the scopes
