"""The engine of a whole run: started when it is first needed, and a second time when its template has ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from ..authoring.source import Broken
from .isolated.engine import Engine

_STARTS = 2  # a template that ends again is no accident
_REAPED = 0.2  # seconds from the end of a template's children, which the kernel kills first, to its own


class NoTemplate(Broken):
    """There is no template process any more, and none is started again."""


class Standby:
    """Use it as a context manager, from any number of threads. `start` makes an engine."""

    def __init__(self, start: Callable[[], Engine]) -> None:
        self._start, self._left = start, _STARTS
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Standby:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the engine, if there is one."""
        if self._engine:
            self._engine.close()

    def engine(self) -> Engine:
        """The engine, which is started if there is none. Raises NoTemplate."""
        with self._lock:
            while self._engine is None:
                if not self._left:
                    raise NoTemplate(
                        f"the template process ended {_STARTS} times (out of memory, or killed): grade again, with "
                        "fewer --jobs if memory is short; what has been graded stays"
                    )
                self._left -= 1
                try:
                    self._engine = self._start()
                except RuntimeError:
                    continue  # it ended while it was starting
            return self._engine

    def lost(self, engine: Engine) -> bool:
        """Has this engine's template ended? Then `engine` gives another one from now on."""
        until = time.monotonic() + _REAPED
        while engine.alive and time.monotonic() < until:
            time.sleep(0.02)
        if engine.alive:
            return False
        with self._lock:
            if self._engine is engine:
                engine.close()
                self._engine = None
        return True
