"""Refusal of new threads while torch counts what one thread does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StartedThread(RuntimeError):
    """An error: code has started a thread while something is counted."""

    def __init__(self) -> None:
        super().__init__("operations and bytes are counted in one thread: start no thread in the block")


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Raise StartedThread at the end of the `with` block if the block has started a Python thread.

    Each new thread calls the profile function of `threading` before its own code. Threads of C code are not seen.
    """
    started: list[int] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        started.append(threading.get_ident())
        sys.setprofile(None)  # of the new thread

    before = threading.getprofile()
    threading.setprofile(note)
    try:
        yield
    finally:
        threading.setprofile(before)
    if started:
        raise StartedThread
