"""A watch on memory, threads and disk space of a submission."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from ...limits import Limits
from .disk_use import exceeds, nameless_bytes
from .process_memory import descendants, memory, resident, threads

_EVERY = 0.05  # seconds between two looks: a process can take about 100 MB in this time


class Ending(StrEnum):
    """The causes for which a child ends early."""

    TIME = "time"  # it exceeded a limit, as in the next two
    MEMORY = "memory"
    DISK = "disk"
    NONSENSE = "nonsense"  # it sent an invalid message
    DIED = "died"  # anything else


class ResourceWatch:
    """A thread that ends a child beyond its limits.

    The kernel limits memory for each process only, and not behind every wall threads and disk space. The watch has a
    clock of its own, so it also sees cells that end at once. `process` is the child's id. `folder` is its folder if the
    kernel does not limit the folder's size, otherwise None. `end` ends the child.
    """

    def __init__(self, process: int, limits: Limits, folder: str | None, end: Callable[[], None]) -> None:
        self.exceeded: Ending | None = None  # set before the child is ended
        self._process, self._limits, self._folder, self._end = process, limits, folder, end
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching. Safe to call twice."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        pause = _EVERY
        while not self._stopped.wait(pause):
            start = time.monotonic()
            self.exceeded = self._look()
            if self.exceeded:
                return self._end()
            pause = max(_EVERY, time.monotonic() - start)  # many files take long to count

    def _look(self) -> Ending | None:
        """Return which limit the child and its descendants exceed, or None.

        Threads also take memory of the kernel, and not every wall can limit their number in advance.
        """
        family, most = descendants(self._process), self._limits.memory
        # The resident memory is more, as it counts pages of the fork server. It is known at once.
        if sum(map(resident, family)) > most and sum(map(memory, family)) > most:
            return Ending.MEMORY
        if threads(self._process) > self._limits.processes:
            return Ending.MEMORY
        room = self._limits.disk_bytes
        if self._folder and exceeds(self._folder, room - nameless_bytes(self._process)):
            return Ending.DISK
        return None
