"""Requests to one child in notebook order, with cells sent ahead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .student_process import Ended, StudentProcess

# Send at most this many bytes ahead. They fit into the socket buffer, so grader and child never deadlock on two full
# sockets. A message has overhead, and JSON writes a character in at most 12 bytes.
_READY, _MESSAGE, _CHARACTER = 1 << 17, 1000, 12


class PipelinedRequests:
    """A dialogue with `child` about the code cells of one notebook.

    `cells` holds the source of each cell, or None for a check. Cells up to the next check are sent without waiting for
    answers. The inputs of a check are sent only after all cells above the check have ended.
    Methods that send a request raise Ended if the child ends instead of answering.
    """

    def __init__(self, child: StudentProcess, cells: Sequence[str | None]) -> None:
        self._child, self._cells = child, cells
        self._next = self._sent = 0  # the next cell to run, and the first unsent one

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request to the child and return its answer.

        The child handles the request after the cells that were sent before. `do` and `arguments` are those of
        `StudentProcess.ask`.
        """
        return self._child.ask(do, **arguments)

    def ask_and_go_on(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and, without waiting, requests to run the cells up to the next check.

        Returns the child's answer to the first request. `do` and `arguments` are those of `StudentProcess.ask`.
        """
        self._send({"do": do, **arguments}, *self._come_next())
        return self._child.answer()

    def run(self) -> dict[str, Any]:
        """Return the child's answer for the next cell: a dict whose key `outputs` holds the cell's outputs."""
        if self._sent == self._next:
            self._send(*self._come_next())
        self._next += 1
        return self._child.answer()

    def skip(self) -> None:
        """Skip the next cell, which is a check: the child does not run it as a cell."""
        self._next += 1
        self._sent = self._next

    def waited(self) -> float:
        """Return the seconds in which the child was ready to run, but other processes had its processor."""
        return self._child.waited()

    def end(self) -> None:
        self._child.kill()

    def _send(self, *questions: dict[str, Any]) -> None:
        with contextlib.suppress(Ended):  # earlier answers still count; reading past them then raises Ended
            self._child.send(*questions)

    def _come_next(self) -> Iterator[dict[str, Any]]:
        """Yield requests for the cells that may be sent ahead.

        These are the cells before the next check, as far as they fit into the socket's buffer.
        """
        room = _READY
        while self._sent < len(self._cells):
            source = self._cells[self._sent]
            if source is None:
                break
            room -= _MESSAGE + _CHARACTER * len(source)
            if room < 0 and self._sent > self._next:
                break
            self._sent += 1
            yield {"do": "cell", "source": source}
