"""The questions that one child is asked, in the order of the notebook. Its cells lie ready before it needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..sandbox.engine import Child, Ended

# Bytes that lie ready: a socket holds more, so nobody waits until they are taken, and the other for an answer to be. A
# message takes up some by itself, a character at most as many as JSON writes for it.
_READY, _MESSAGE, _CHARACTER = 1 << 17, 1000, 12


class Dialogue:
    """With `child` about `cells`: their texts, None for a check.

    Cells are sent up to the next check, so that neither side waits for the other; a check's cases are not sent before
    all cells above it have ended. Whatever asks raises Ended when the child ends instead of answering.
    """

    def __init__(self, child: Child, cells: Sequence[str | None]) -> None:
        self._child, self._cells = child, cells
        self._next = self._sent = 0  # the cell that is run next, and the first that has not been sent

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Ask for something about the cells that have been run."""
        return self._child.ask(do, **arguments)

    def ask_and_go_on(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The same, with the cells that come next."""
        self._send({"do": do, **arguments}, *self._come_next())
        return self._child.answer()

    def run(self) -> dict[str, Any]:
        """What comes of the next cell."""
        if self._sent == self._next:
            self._send(*self._come_next())
        self._next += 1
        return self._child.answer()

    def skip(self) -> None:
        """The next cell is a check: go on behind it."""
        self._next += 1
        self._sent = self._next

    def waited(self) -> float:
        """Return the seconds for which others had the child's processor."""
        return self._child.waited()

    def end(self) -> None:
        self._child.kill()

    def _send(self, *questions: dict[str, Any]) -> None:
        with contextlib.suppress(Ended):  # what it has said before still counts, and then tells that it has ended
            self._child.send(*questions)

    def _come_next(self) -> Iterator[dict[str, Any]]:
        """The questions that can lie ready."""
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
