"""A running `autograder watch`, and the lines that it has printed."""

from __future__ import annotations

import os
import re
import signal
import threading
from types import TracebackType

from support.course import start_autograder

PATIENCE = 120  # until a line must have come, on however busy a machine


class Watching:
    """A running `autograder watch` and its lines. It is ended at the end of a `with` block."""

    def __init__(self, *arguments: object) -> None:
        output, write = os.pipe()
        self._process = start_autograder("watch", *arguments, out=write)
        os.close(write)
        self._output = os.fdopen(output)
        self._lines: list[str] = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Watching:
        self._reader.start()
        self.wait_for("watching ")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.close()
        self._reader.join()

    @property
    def said(self) -> str:
        return "".join(self._lines)

    def wait_for(self, pattern: str) -> str:
        """Return the first line in which a regular expression is found, as soon as it is there."""

        def found() -> str | None:
            return next((line for line in self._lines if re.search(pattern, line)), None)

        with self._came:
            assert self._came.wait_for(lambda: found() or not self._reader.is_alive(), PATIENCE), self.said
            line = found()
        assert line, self.said
        return line

    def interrupt(self) -> int:
        """Press Ctrl+C, and return the exit status."""
        os.kill(self._process.pid, signal.SIGINT)
        status = self._process.wait(PATIENCE)
        self._reader.join()
        return status

    def _read(self) -> None:
        with self._output as lines:
            for line in lines:
                with self._came:
                    self._lines.append(line)
                    self._came.notify_all()
        with self._came:
            self._came.notify_all()
