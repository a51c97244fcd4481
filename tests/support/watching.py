"""`autograder watch` as a process, with its lines."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from pathlib import Path
from types import TracebackType

from support.course import BIN

_SECONDS = 120  # until a line must have come, on however busy a machine


class Watching:
    """A running `autograder watch`. It is ended at the end of a `with` block."""

    def __init__(self, *arguments: object) -> None:
        command = [BIN / "autograder", "watch", *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._lines: list[str] = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Watching:
        self._reader.start()
        self.wait_for("watching ")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    @property
    def said(self) -> str:
        return "".join(self._lines)

    def wait_for(self, pattern: str) -> str:
        """Return the first line in which a regular expression is found, as soon as it is there."""

        def found() -> str | None:
            return next((line for line in self._lines if re.search(pattern, line)), None)

        with self._came:
            assert self._came.wait_for(lambda: found() or not self._reader.is_alive(), _SECONDS), self.said
            line = found()
        assert line, self.said
        return line

    def interrupt(self) -> int:
        """Press Ctrl+C, and return the exit status."""
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait(_SECONDS)
        self._reader.join()
        return status

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                with self._came:
                    self._lines.append(line)
                    self._came.notify_all()
        with self._came:
            self._came.notify_all()


def deliver(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
