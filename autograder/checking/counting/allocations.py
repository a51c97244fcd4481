"""Live and peak bytes of tensors, from the records of torch's profiler."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import time_ns
from typing import Any

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

from ..containment.thread_starts import in_one_thread

_CONFIG = ProfilerConfig(ProfilerState.KINETO, False, True, False, False, False, _ExperimentalConfig())
_ACTIVITIES = {ProfilerActivity.CPU}
_SCOPES = {RecordScope.USER_SCOPE}  # no ops: recording them takes ten times as long as recording allocations
SINGLE_NUMBER = 8  # bytes; torch makes a tensor of each Python number that an operation takes
_STATE = torch.get_rng_state().nbytes  # bytes of the random state that a checkpoint saves
_CLOCKS = 100_000  # largest difference in ns between the profiler's clock and `time_ns`
_ERRORS = 2  # the log level of torch's C++ code at which it reports errors and no warnings


def _log_level() -> ctypes.c_int:
    """Return the variable of torch's C++ code that holds its log level.

    Returns a variable without effect if torch's library does not export its own.
    """
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(torch._C.__file__), "FLAGS_caffe2_log_level")
    except (OSError, ValueError):
        return ctypes.c_int()


_LOG_LEVEL = _log_level()


class ProfilerInterfered(RuntimeError):
    """A conflict between `live_bytes` and another use of torch's profiler.

    Either the profiler was on when the `with live_bytes()` block began, or the `with` block stopped the profiler.
    """

    def __init__(self) -> None:
        super().__init__(
            "live_bytes needs torch's profiler for itself: stop it before, and leave it alone in the block"
        )


class LiveBytes:
    """Counts of the bytes allocated inside a `with live_bytes()` block.

    `now` is the number of bytes alive at this moment, `peak` the largest value of `now` so far.
    """

    def __init__(self) -> None:
        self._alive: dict[tuple[int, torch.device], int] = {}
        self._now = self._peak = 0
        self._started = (0, 0)
        self._running = False

    @property
    def now(self) -> int:
        """Bytes allocated inside the `with` block and alive at this moment.

        Raises ProfilerInterfered if the `with` block stopped the profiler.
        """
        self._read()
        return self._now

    @property
    def peak(self) -> int:
        """Largest number of bytes alive at once so far.

        Raises ProfilerInterfered if the `with` block stopped the profiler.
        """
        self._read()
        return self._peak

    @property
    def now_and_peak(self) -> tuple[int, int]:
        """`now` and `peak` from one reading, which takes about 0.8 ms.

        Raises ProfilerInterfered if the `with` block stopped the profiler.
        """
        self._read()
        return self._now, self._peak

    def _start(self) -> None:
        earliest = time_ns()
        _start()
        self._started, self._running = (earliest, time_ns()), True

    def _read(self) -> None:
        if self._running:
            self._stop()
            self._start()

    def _stop(self) -> None:
        """Stop the profiler and update the counts with the allocations that it recorded.

        Memory that was allocated before the `with` block does not count, even if it is freed inside the block.
        Raises ProfilerInterfered if the `with` block stopped or restarted the profiler.
        """
        self._running = False
        if not _profiler_enabled():
            raise ProfilerInterfered
        recorded = _disable_profiler()
        earliest, latest = self._started
        if not earliest - _CLOCKS <= recorded.trace_start_ns() <= latest + _CLOCKS:
            raise ProfilerInterfered
        for event in _in_order(recorded.experimental_event_tree()):
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


def _in_order(events: list[Any]) -> list[Any]:
    """Return a profiler's events in the order of their time, with those inside named scopes.

    `Optimizer.step` and `Optimizer.zero_grad` are such scopes: what they free is recorded as a child of the scope.
    """
    if not any(event.children for event in events):
        return events
    found, waiting = [], list(events)
    while waiting:
        event = waiting.pop()
        found.append(event)
        waiting += event.children
    return sorted(found, key=lambda event: event.start_time_ns)


@contextmanager
def live_bytes() -> Iterator[LiveBytes]:
    """Measure the bytes of the tensors made inside the `with` block; yield a `LiveBytes`.

    Counted are tensors kept by the graph (also in `ctx` attributes and closures), gradients, intermediates, and scratch
    memory of kernels. Not counted are allocations before the `with` block, NumPy's own arrays, single numbers, and the
    random state that a checkpoint saves. Set `.grad` to None before the `with` block: an existing
    gradient is reused and not counted.
    Raises ProfilerInterfered if torch's profiler is already on or if the `with` block stops the profiler. Raises
    StartedThread if the `with` block starts a thread or a process.
    """
    if _profiler_enabled():
        raise ProfilerInterfered
    live = _make_live_bytes()
    with in_one_thread(), _no_warnings_of_torch():
        live._start()
        try:
            yield live
        finally:
            live._stop()


def _make_live_bytes() -> LiveBytes:
    """Return an object of a class of its own, with the members that `LiveBytes` has now.

    What an answer sets in `LiveBytes` inside of the block then changes nothing.
    """
    members = {name: each for name, each in vars(LiveBytes).items() if name not in ("__dict__", "__weakref__")}
    made: LiveBytes = type("LiveBytes", (LiveBytes,), members)()
    return made


@contextmanager
def _no_warnings_of_torch() -> Iterator[None]:
    """Silence the warnings of torch's C++ code in the `with` block; errors are still logged.

    Otherwise torch warns on stderr when memory from before the profiler's start is freed.
    """
    level = _LOG_LEVEL.value
    _LOG_LEVEL.value = _ERRORS
    try:
        yield
    finally:
        _LOG_LEVEL.value = level


@contextmanager
def without_profiler() -> Iterator[bool]:
    """Turn torch's profiler off inside the `with` block; yield True if the profiler was on, else False.

    A profiler that was on is restarted after the `with` block, but its earlier records are lost.
    """
    on = _profiler_enabled()
    stop_profiler()
    try:
        yield on
    finally:
        if on:
            _start()


def stop_profiler() -> bool:
    """Stop torch's profiler, and return True if the profiler was on, else False."""
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
