"""The grader's handle of one child: requests, limits, premature end.

All data from a child may come from student code. The data are limited in size, checked and never executed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from ....checking.containment.deadline import Deadline, busy, waited
from ...limits import Limits
from ..wire.channel import Channel, Closed, Malformed, TimedOut
from ..wire.wire_messages import ChildReply, ChildRequest
from .disk_use import bytes_on_disk
from .process_memory import descendants, parent, resident
from .resource_watch import Ending, ResourceWatch
from .touched_memory import TouchedMemory, files_mapped

START_SECONDS = 60.0  # on a busy machine: to fork and isolate a child, or to send a child a message
_MOST_NOTICED = 1000  # messages of one child
_GRACE = 3.0  # seconds beyond the time limit after which a process should have stopped a cell itself


class Ended(Exception):
    """An error: a child has ended early. `why` is the cause."""

    def __init__(self, why: Ending) -> None:
        super().__init__(why)
        self.why = why


class StudentProcess:
    """A running child, reached through a channel.

    `handle` is a pidfd of the child: a file descriptor that stands for a process. `folder` is the child's folder if the
    kernel does not limit its size, otherwise None. `mounts` are the paths of its own file systems.
    A thread watches the child's memory and disk space.
    Use the object as a context manager: at the end of the `with` block the child is killed.
    """

    def __init__(
        self, channel: Channel, handle: int, limits: Limits, folder: str | None = None, mounts: Sequence[str] = ()
    ) -> None:
        self._channel, self._handle, self._limits, self._folder = channel, handle, limits, folder
        # The fork server knows the child's id in another PID namespace only; this is the id in the grader's namespace.
        fields = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines())
        self._process = int(fields["Pid"])
        self.noticed: list[Any] = []  # what the child told of code before it ran it; it may be forged
        self._on_disk = partial(bytes_on_disk, self._process, folder, mounts)
        self._start = time.monotonic()
        self._watch = ResourceWatch(self._process, limits, folder, self._end)

    def __enter__(self) -> StudentProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def agree(self, key: str) -> None:
        """Send the child the key that authenticates all later messages.

        Must be called before any student code runs. `key` is in hexadecimal digits. Raises Ended if the child is gone.
        """
        self._send({"key": key})
        self._channel.agree(key)

    def ask(self, do: ChildRequest, **arguments: Any) -> ChildReply:
        """Send one request to the child and return its answer. What it notices before goes into `noticed`.

        `arguments` are those of the method of `Worker` for the request `do`.
        Raises Ended if the child is gone, exceeds a limit or sends an invalid message.
        """
        self._send({"do": do, **arguments})
        deadline = Deadline(self._limits.cell_seconds + _GRACE, self._process)
        while "noticed" in (reply := self._receive(deadline)):
            if len(self.noticed) > _MOST_NOTICED:
                raise Ended(Ending.NONSENSE)
            self.noticed.append(reply["noticed"])
        return cast(ChildReply, reply)

    def weigh(self, do: ChildRequest, **arguments: Any) -> ChildReply:
        """Send one request as `ask` does. The key `touched` of the answer has the memory that it took.

        The unit is a byte, and `TouchedMemory` counts, in the child and its descendants. If the kernel does not let it,
        the value is None. The key `whole` tells whether all has been counted: no process has begun or ended meanwhile.
        """
        counts: dict[int, TouchedMemory] = {}
        disk = 0
        with contextlib.suppress(OSError):
            disk = self._on_disk()
            code = files_mapped(parent(self._process))  # the fork server's: no answer chose them
            counts = {each: TouchedMemory(each, code) for each in self._family()}
        reply = self.ask(do, **arguments)
        reply["touched"], reply["whole"] = None, not counts
        if counts:
            with contextlib.suppress(OSError):
                reply["touched"] = sum(each.bytes() for each in counts.values()) + max(self._on_disk() - disk, 0)
                reply["whole"] = self._family() == [*counts]
        return reply

    def _family(self) -> list[int]:
        """Return the ids of the child and its living descendants."""
        child, *others = descendants(self._process)
        return [child, *(each for each in others if resident(each))]

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._channel.send(message, seconds=START_SECONDS)
        except Closed:
            raise Ended(self._watch.exceeded or Ending.DIED) from None

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the child's next message, which must arrive within `seconds`.

        The time in which other processes had the child's processor is not counted.
        Raises Ended if the child is gone, exceeds a limit, or sends an invalid message.
        """
        return self._receive(Deadline(seconds, self._process))

    def _receive(self, deadline: Deadline) -> dict[str, Any]:
        while (left := deadline.left()) > 0:
            try:
                return self._channel.receive(left)
            except Closed:
                raise Ended(self._watch.exceeded or Ending.DIED) from None
            except TimedOut:
                pass
            except Malformed:
                raise Ended(self._watch.exceeded or Ending.NONSENSE) from None
        raise Ended(Ending.TIME)

    def waited(self) -> float:
        """Return the seconds in which the child was ready to run, but other processes had its processor.

        If its own threads had the processor, the child did not wait.
        """
        return min(waited(self._process), max(time.monotonic() - self._start - busy(self._process), 0))

    def kill(self) -> None:
        """Kill the child. Safe to call twice.

        If the child is isolated, all processes that it has started end, too.
        """
        if self._handle < 0:
            return
        self._watch.stop()
        self._end()
        os.close(self._handle)
        self._handle = -1
        self._channel.close()

    def _end(self) -> None:
        """Let the kernel kill the child."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
