"""Ctrl+C while submissions are graded: one line, no process left behind, exit status 130."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from .sandbox.process_memory import descendants

STATUS = 130  # of a command that Ctrl+C has ended, as shells have it


class Interrupt:
    """A handler of SIGINT that ends this process at once. Use it as a context manager.

    `kept` says what stays and how to go on; whoever grades keeps it up to date. `clean` is called at the end.
    """

    def __init__(self) -> None:
        self.kept = "nothing was graded yet"
        self.clean: Callable[[], None] = lambda: None
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._end)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Print the line and exit.

        Nothing is unwound: whatever is written may be cut off at any step (see `batch`), and threads that wait for an
        endless loop would hold it up.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        start = "\n" if os.isatty(2) else ""  # below the line of progress
        os.write(2, f"{start}autograder: stopped: {self.kept}\n".encode(errors="backslashreplace"))
        for process in descendants(os.getpid())[1:]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.clean()
        os._exit(STATUS)
