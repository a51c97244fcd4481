"""The interpreter's other threads, and whether they ran meanwhile."""

from __future__ import annotations

import sys
from threading import get_ident
from time import clock_gettime_ns, pthread_getcpuclockid


class OtherThreads:
    """Processor time of the threads that could run Python when this was made.

    A thread that changes something and puts it back has run in between. One that waits has not: a pool that was left
    open, a timer. Threads of C code (OpenMP, a profiler) are not among them.
    """

    def __init__(self) -> None:
        me = get_ident()
        clocks = [pthread_getcpuclockid(thread) for thread in sys._current_frames() if thread != me]
        self._was = {clock: clock_gettime_ns(clock) for clock in clocks}

    def have_run(self) -> bool:
        """Return whether any of them has run, or ended."""
        return any(_used(clock) != was for clock, was in self._was.items())


def _used(clock: int) -> int:
    """Return the nanoseconds on the clock of a thread; -1 when it has ended."""
    try:
        return clock_gettime_ns(clock)
    except OSError:
        return -1
