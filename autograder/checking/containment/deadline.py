"""Time limits that do not count waiting for a processor."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

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


class Deadline:
    """A time limit for a process, `seconds` from now.

    The limit is extended by the time that the process waits for a processor. `process` is the process id.
    """

    def __init__(self, seconds: float, process: int) -> None:
        self._seconds, self._process = seconds, process
        self._start, self._waited = monotonic(), waited(process)

    def left(self) -> float:
        """Return the seconds that remain; 0 or less if the limit has passed."""
        added = min(max(waited(self._process) - self._waited, 0), _MOST * self._seconds)
        return self._seconds + added - (monotonic() - self._start)
