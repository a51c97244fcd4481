"""Limits of wall time that leave out waiting for a busy processor."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

_MOST = 3  # times a limit that are added to it at most


def waited(process: int) -> float:
    """Return the seconds for which the main thread of a process was ready to run and had no processor.

    0 for a process that has started others, which it may be waiting for, and where the system does not tell.
    """
    folder = Path(f"/proc/{process}/task/{process}")
    try:
        if (folder / "children").read_text(encoding="utf-8").strip():
            return 0.0
        return int((folder / "schedstat").read_text(encoding="utf-8").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Deadline:
    """The end of `seconds` from now on, put off while a process waits."""

    def __init__(self, seconds: float, process: int) -> None:
        self._seconds, self._process = seconds, process
        self._start, self._waited = monotonic(), waited(process)

    def left(self) -> float:
        """Return the seconds that are left; 0 or less when it is over."""
        added = min(max(waited(self._process) - self._waited, 0), _MOST * self._seconds)
        return self._seconds + added - (monotonic() - self._start)
