"""One student's process: requests to it, its limits, and its premature end.

All data from it may come from student code: they are bounded and checked, and never executed.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from ...checking.deadline import Deadline, waited
from ..limits import Limits
from .channel import Channel, Closed, Malformed, TimedOut
from .process_memory import descendants, memory

START_SECONDS = 60.0  # for a fork and its namespaces on a busy machine, and for a process to take a message
_GRACE = 3.0  # seconds beyond the time limit after which a process should have stopped a cell itself


class Ended(Exception):
    """A premature end of a student's process; `why`: "time", "memory", "died" or "nonsense"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class StudentProcess:
    """One isolated process."""

    def __init__(self, channel: Channel, handle: int, limits: Limits) -> None:
        self._channel, self._handle, self._limits = channel, handle, limits
        # The fork server sees numbers of another PID namespace; the kernel gives the number in ours.
        fields = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines())
        self._process = int(fields["Pid"])

    def __enter__(self) -> StudentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def agree(self, key: str) -> None:
        """Give the child the channel's key before any student code runs. Raises Ended if the child is gone."""
        try:
            self._channel.send({"key": key}, seconds=START_SECONDS)
        except Closed:
            raise Ended("died") from None
        self._channel.agree(key)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send one request (see `worker`) and return the answer.

        Raises Ended if the child is gone, exceeds a limit or sends nonsense.
        """
        self.send({"do": do, **arguments})
        return self.answer()

    def send(self, *questions: dict[str, Any]) -> None:
        """Send requests without waiting. Answers arrive in the same order. Raises Ended if the child is gone."""
        try:
            self._channel.send(*questions, seconds=START_SECONDS)
        except Closed:
            raise Ended("died") from None

    def answer(self) -> dict[str, Any]:
        """Return the answer to the first unanswered request. Raises Ended if there is none in time."""
        return self.receive(self._limits.cell_seconds + _GRACE)

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message. Time in which other processes had the child's processor does not count.

        Raises Ended if the child is gone, runs out of time or memory, or sends nonsense.
        """
        deadline = Deadline(seconds, self._process)
        while (left := deadline.left()) > 0:
            try:
                return self._channel.receive(left, self._look)
            except Closed:
                raise Ended("died") from None
            except TimedOut:
                pass
            except Malformed:
                raise Ended("nonsense") from None
        raise Ended("time")

    def waited(self) -> float:
        """Return the seconds for which the child was ready to run but other processes had its processor."""
        return waited(self._process)

    def _look(self) -> None:
        if sum(map(memory, descendants(self._process))) > self._limits.memory:
            raise Ended("memory")

    def kill(self) -> None:
        """Kill the child and everything it has started. Safe to call twice."""
        if self._handle < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        os.close(self._handle)
        self._handle = -1
        self._channel.close()
