"""Detection of other Python threads that ran during an observation."""

from __future__ import annotations

import sys
from threading import get_ident
from time import clock_gettime_ns, pthread_getcpuclockid


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
