"""An engine that is started again if its fork server dies."""

from __future__ import annotations

import threading
import time

from ....errors import UserError
from ...limits import Limits
from ...wall_kinds import Wall
from .engine import Engine
from .fork_server_process import ForkServerProcess

_STARTS = 2  # a fork server that dies twice is no accident
_REAPED = 0.2  # seconds to wait for a dying fork server: the kernel kills its children first


class NoForkServer(UserError):
    """An error: fork servers died too often."""


class RestartingEngine:
    """A thread-safe engine that is replaced if its fork server dies.

    If the fork server of the first engine dies, a second engine is started. There is no third engine. `starting` is a
    fork server that has been started in advance. The first engine uses it.
    """

    def __init__(self, limits: Limits, *, wall: Wall = Wall.FULL, starting: ForkServerProcess | None = None) -> None:
        self._limits, self._wall, self._starting = limits, wall, starting
        self._left = _STARTS
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the engine, if one is running."""
        if self._engine:
            self._engine.close()

    def get(self) -> Engine:
        """Return the engine, and start it if necessary.

        Raises NoForkServer if too many fork servers have died.
        """
        with self._lock:
            while self._engine is None:
                if not self._left:
                    raise NoForkServer(
                        f"the fork server of all processes ended {_STARTS} times (out of memory, or killed): grade "
                        "again, with fewer --jobs if memory is short; what has been graded stays"
                    )
                self._left -= 1
                starting, self._starting = self._starting, None
                try:
                    self._engine = Engine(self._limits, wall=self._wall, starting=starting)
                except RuntimeError:
                    continue  # the fork server died during the start
            return self._engine

    def lost(self, engine: Engine) -> bool:
        """Return whether the fork server of `engine` has died.

        If it has died, the next `get` starts another engine.
        """
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
