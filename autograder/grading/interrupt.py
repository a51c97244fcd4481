"""The reaction to Ctrl+C during grading: a message, then exit status 130.

No child process is left running.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from .sandbox.process_memory import descendants

STATUS = 130  # exit status after Ctrl+C, as in shells


class Interrupt:
    """A handler of SIGINT that ends this process immediately.

    Use this class as a context manager. `kept` is the message to print: which results stay, and how to continue.
    Grading updates the message. `clean` is a function that is called before the exit.
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
        """Print `kept`, kill all child processes and exit.

        No exception is raised in this process: threads that wait for a student's endless loop would delay the exit. The
        written results are consistent at any moment (see `batch`).
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        start = "\n" if os.isatty(2) else ""  # below the progress line
        os.write(2, f"{start}autograder: stopped: {self.kept}\n".encode(errors="backslashreplace"))
        for process in descendants(os.getpid())[1:]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.clean()
        os._exit(STATUS)
