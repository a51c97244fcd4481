"""A time limit on an answer, in the process that runs it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .deadline import Deadline
from .nested_passes import passes_bounded

_AGAIN = 0.1  # seconds until code that catches BaseException in its loop gets the next TimeIsUp


class TimeIsUp(BaseException):
    """The exception raised in an answer whose time is up.

    The base class is BaseException: an answer's `except Exception` does not catch it.
    """


def has_timer() -> bool:
    """Return whether this system has the timer that `limited` needs. Windows has none."""
    return hasattr(signal, "setitimer")


@contextmanager
def limited(deadline: Deadline) -> Iterator[None]:
    """Raise TimeIsUp inside the `with` block when `deadline` has passed.

    Raises PassesWithoutEnd where backward passes nest without end. There is no deadline without the timer, nor outside
    the main thread.
    """
    if not has_timer() or threading.current_thread() is not threading.main_thread():
        with passes_bounded():
            yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        left = deadline.left()
        if left <= 0:
            raise TimeIsUp
        signal.setitimer(signal.ITIMER_REAL, left, _AGAIN)

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(deadline.left(), _AGAIN), _AGAIN)  # 0 would start no timer
    try:
        with passes_bounded():
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
