"""An engine that starts on first use and is restarted if its template dies."""

from __future__ import annotations

import threading
import time

from ...errors import UserError
from ..limits import Limits
from .engine import Engine
from .template_process import TemplateProcess

_STARTS = 2  # a template that dies twice is no accident
_REAPED = 0.2  # seconds between the deaths of a template's children, which the kernel kills first, and its own


class NoTemplate(UserError):
    """The template process died and is not restarted any more."""


class RestartingEngine:
    """An engine for any number of threads, restarted once if its template dies.

    `starting` is a template process that is getting ready, for the first start.
    """

    def __init__(self, limits: Limits, *, isolated: bool = True, starting: TemplateProcess | None = None) -> None:
        self._limits, self._isolated, self._starting = limits, isolated, starting
        self._left = _STARTS
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the engine, if it was started."""
        if self._engine:
            self._engine.close()

    def get(self) -> Engine:
        """Return the engine, and start it if necessary. Raises NoTemplate if too many templates have died."""
        with self._lock:
            while self._engine is None:
                if not self._left:
                    raise NoTemplate(
                        f"the template process ended {_STARTS} times (out of memory, or killed): grade again, with "
                        "fewer --jobs if memory is short; what has been graded stays"
                    )
                self._left -= 1
                starting, self._starting = self._starting, None
                try:
                    self._engine = Engine(self._limits, isolated=self._isolated, starting=starting)
                except RuntimeError:
                    continue  # the template died during the start
            return self._engine

    def lost(self, engine: Engine) -> bool:
        """Return whether the template of `engine` has died. If so, `get` starts another one."""
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
