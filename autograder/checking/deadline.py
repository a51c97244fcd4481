"""Limits of wall time that exclude waiting for a processor."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

_MOST = 3  # a limit is extended by at most this multiple of itself


def waited(process: int) -> float:
    """Return the seconds for which the main thread of a process was runnable but had no processor.

    Returns 0 for a process with children, which it may be waiting for, and on systems without `/proc`.
    """
    folder = Path(f"/proc/{process}/task/{process}")
    try:
        if (folder / "children").read_text(encoding="utf-8").strip():
            return 0.0
        return int((folder / "schedstat").read_text(encoding="utf-8").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Deadline:
    """A deadline, extended while the process waits for a processor.

    It begins as `seconds` from now.
    """

    def __init__(self, seconds: float, process: int) -> None:
        self._seconds, self._process = seconds, process
        self._start, self._waited = monotonic(), waited(process)

    def left(self) -> float:
        """Return the remaining seconds: 0 or less once the deadline has passed."""
        added = min(max(waited(self._process) - self._waited, 0), _MOST * self._seconds)
        return self._seconds + added - (monotonic() - self._start)
