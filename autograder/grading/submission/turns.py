"""Turns at the machine: many submissions at once, or one alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock that many threads share, or one holds alone; who waits to be alone goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = self._wanting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others, and not beside one that is alone."""
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
    def alone(self) -> Iterator[None]:
        """Wait until nobody runs, and let nobody begin meanwhile. Several of these come one after another."""
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
