"""A lock that several threads share or one thread holds alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """A lock that is held by several threads or exclusively by one.

    A thread that waits for exclusive use goes before threads that ask for shared use later.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = self._wanting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock in the `with` block, together with other threads. This is a context manager.

        The lock is never held shared and exclusively at the same time.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._wanting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock alone in the `with` block. This is a context manager.

        Waits for the threads that hold the lock. Until the end of the `with` block other threads must wait.
        """
        with self._changed:
            self._wanting += 1
            self._changed.wait_for(lambda: not self._sharing)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._wanting -= 1
                self._sharing -= 1
                self._changed.notify_all()
