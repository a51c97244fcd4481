"""The progress line on the terminal during grading."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from ..language import quantity
from .interrupt import Interrupt
from .submission.pipeline import Result
from .summary import printable

_NAMED = 3  # students in the line


class Progress:
    """A progress line on one assignment: number of results, speed, remaining time.

    `name` is the assignment's. `interrupt` holds the message for Ctrl+C, which is updated with each result. `force`
    tells whether unchanged submissions are graded again, too. If the output is not a terminal, no line is shown.
    """

    def __init__(self, name: str, interrupt: Interrupt, force: bool) -> None:
        self._name, self._done, self._start = printable(name), 0, time.monotonic()
        self._interrupt, self._line = interrupt, f"{self._name} "
        self._next = "with --force the same command begins again" if force else "the same command goes on from there"

    def show(self, result: Result, total: int) -> None:
        """Show that one more submission has a `result`. `total` is the number of submissions."""
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
