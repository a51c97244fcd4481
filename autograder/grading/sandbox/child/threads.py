"""Detection of other Python threads that ran during an observation."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from threading import get_ident
from time import clock_gettime_ns, pthread_getcpuclockid
from typing import Any

from ....checking.containment.thread_starts import note_start
from ..wire.enclosed import enclosed

_STARTS = ("start_new", "start_new_thread", "start_joinable_thread")  # the first two are one function


def note_thread_starts() -> None:
    """Let each function that starts a thread note it, for the rest of the process.

    Student code must not have run before, nor a `Guard` have looked: then nobody has kept the functions themselves.
    """

    def noting(start: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: object, **named: object) -> object:
            note_start()
            return start(*arguments, **named)

        return enclosed(noted)

    for name in _STARTS:
        if hasattr(_thread, name):
            start = noting(getattr(_thread, name))
            setattr(_thread, name, start)
            if hasattr(threading, f"_{name}"):
                setattr(threading, f"_{name}", start)


class OtherThreads:
    """The processor times of all Python threads but this one.

    The times are measured at creation. A thread that changes an object and restores it must use processor time. A
    waiting thread, such as an idle pool or a timer, uses none. Threads of C code (OpenMP, a profiler) are not included.
    """

    def __init__(self) -> None:
        me = get_ident()
        clocks = [pthread_getcpuclockid(thread) for thread in sys._current_frames() if thread != me]
        self._was = {clock: clock_gettime_ns(clock) for clock in clocks}

    def have_run(self) -> bool:
        """Return whether one of the other threads has used processor time or ended since the creation."""
        return any(_used(clock) != was for clock, was in self._was.items())


def _used(clock: int) -> int:
    """Return the nanoseconds of processor time that a thread has used, or -1 if the thread has ended.

    `clock` is the number of the thread's clock.
    """
    try:
        return clock_gettime_ns(clock)
    except OSError:
        return -1
