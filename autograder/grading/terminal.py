"""The terminal during grading: safe text, a progress line, Ctrl+C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

from ..language import quantity
from .files.inert_names import one_line
from .sandbox.grader.process_memory import descendants

STATUS = 130  # exit status after Ctrl+C, as in shells
_NAMED = 3  # students in the line


def printable(text: str) -> str:
    """Return the text with its control characters escaped.

    Names and submitted texts must not control the terminal.
    """
    return "\n".join(map(one_line, text.split("\n")))


class Interrupt:
    """A handler of SIGINT that ends this process with exit status 130.

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
        said = f"{start}autograder: stopped: {self.kept}\n"
        os.write(2, said.encode(sys.stderr.encoding, "backslashreplace"))
        for process in descendants(os.getpid())[1:]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.clean()
        os._exit(STATUS)


class ProgressLine:
    """A progress line on one assignment: number of results, speed, remaining time.

    `name` is the assignment's. `interrupt` holds the message for Ctrl+C, which is updated with each result. `force`
    tells whether unchanged submissions are graded again, too. If the output is not a terminal, no line is shown.
    """

    def __init__(self, name: str, interrupt: Interrupt, force: bool) -> None:
        self._name, self._done, self._start = printable(name), 0, time.monotonic()
        self._interrupt, self._line = interrupt, f"{self._name} "
        self._next = "with --force the same command begins again" if force else "the same command goes on from there"

    def show(self, result: object, total: int) -> None:
        """Count one more graded submission, and draw the line anew.

        `total` is the number of submissions of the assignment. `result` is ignored: the batch calls this with each
        result.
        """
        self._done = min(self._done + 1, total)  # several attempts of one student may be graded
        self._interrupt.kept = (
            f"{self._name}, done and kept: {self._done} of {quantity(total, 'submission')}; {self._next}"
        )
        if not sys.stderr.isatty():
            return
        speed = self._done / max(time.monotonic() - self._start, 1e-3)
        bar = "█" * (20 * self._done // total)
        left = (total - self._done) / speed
        self._line = f"{self._name} {bar:·<20} {self._done}/{total} · {speed:.1f}/s · {left:.0f} s left "
        print(f"\r{self._line}\033[K", end="", file=sys.stderr, flush=True)

    def wait(self, students: Sequence[str]) -> None:
        """Show the names of `students`, whose submissions have been running for a while."""
        if sys.stderr.isatty():
            more = f" and {len(students) - _NAMED} more" if len(students) > _NAMED else ""
            who = printable(", ".join(students[:_NAMED]))
            print(f"\r{self._line}· waits for {who}{more}\033[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty():
            print(file=sys.stderr)
