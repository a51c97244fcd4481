"""Time limits that do not count waiting for a processor."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

_UNWATCHED = 0.05  # seconds
_MOST = 3  # a limit is extended by at most three times its length


def waited(process: int) -> float:
    """Return the seconds for which a process was ready to run but had to wait for a processor.

    `process` is a process id, and only the main thread counts. Returns 0 on systems without `/proc`. Returns 0 for a
    process with children, too, because the process may be waiting for its children.
    """
    folder = Path(f"/proc/{process}/task/{process}")
    try:
        if (folder / "children").read_text(encoding="utf-8").strip():
            return 0.0
        return int((folder / "schedstat").read_text(encoding="utf-8").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def busy(process: int) -> float:
    """Return the processor time of all threads of a process, in seconds.

    Returns 0 if it is unknown.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


class Deadline:
    """A time limit for a process, `seconds` from now.

    The limit is extended by the time that the process waits for a processor. `process` is the process id; without one
    it is this process. A process that ends within `_UNWATCHED` seconds is not looked at: most do, and a look opens
    three files.
    """

    def __init__(self, seconds: float, process: int | None = None) -> None:
        self._seconds, self._process = seconds, os.getpid() if process is None else process
        self._start = monotonic()
        self._first_look: tuple[float, float] | None = None  # seconds that the process had waited and been busy

    def left(self) -> float:
        """Return the seconds until the limit passes or is to be asked for again; 0 or less if it has passed."""
        passed = monotonic() - self._start
        if self._first_look is None:
            if passed < min(_UNWATCHED, self._seconds):
                return min(_UNWATCHED, self._seconds) - passed
            self._first_look = waited(self._process), busy(self._process)
        waited_before, busy_before = self._first_look
        # A process whose own threads had the processor did not wait for others.
        idle = max(passed - (busy(self._process) - busy_before), 0)
        added = min(max(waited(self._process) - waited_before, 0), idle, _MOST * self._seconds)
        return self._seconds + added - passed
