"""The grader's side of the sandbox: start of the template, forks, requests.

All data from a child may come from student code: it is bounded and checked, and never executed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from ...checking.deadline import Deadline, waited
from ..limits import Limits
from .channel import LARGEST_ANSWER, Channel, Closed, Malformed, TimedOut
from .libc import CannotIsolate
from .process_memory import descendants, memory
from .run_codec import Rehearsal
from .template_process import LARGEST_REPLY, TemplateProcess

_GRACE = 3.0  # seconds beyond the time limit after which a child should have stopped a cell itself
_START = 60.0  # seconds for a fork and its namespaces on a busy machine, and for a child to take a message


class Ended(Exception):
    """A premature end of a child; `why`: "time", "memory", "died" or "nonsense"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Engine:
    """A template process and its children.

    One engine serves any number of threads. Use it as a context manager.
    Raises CannotIsolate if the kernel refuses isolation.
    Raises RuntimeError if the template ends while it is `starting`.
    """

    def __init__(
        self, limits: Limits | None = None, *, isolated: bool = True, starting: TemplateProcess | None = None
    ) -> None:
        self.limits, self.isolated = limits or Limits(), isolated
        self._lock = threading.Lock()
        self._template = starting or TemplateProcess(isolated)
        self._template.wait()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Kill the template, and with it every child."""
        self._template.end()

    @property
    def alive(self) -> bool:
        return self._template.alive

    def fork(self) -> Child:
        """Return a new child, which has run nothing yet, on this thread's cores.

        Raises CannotIsolate if the kernel refuses isolation, Ended if the template is gone.
        """
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            try:
                cores = list(os.sched_getaffinity(0))
                asked = json.dumps({"do": "fork", "limits": asdict(self.limits), "cores": cores})
                socket.send_fds(self._template.control, [asked.encode()], [theirs.fileno()])
                _, (handle, *_), _, _ = socket.recv_fds(self._template.control, LARGEST_REPLY, 1)
            except (OSError, ValueError) as error:
                ours.close()
                raise Ended("died") from error
        child = Child(Channel(ours, LARGEST_ANSWER), handle, self.limits)
        try:
            ready = child.receive(_START)
        except Ended as ended:  # no line of the submission has run yet, so it is not at fault
            child.kill()
            raise Ended("died") from ended
        if "refused" in ready:
            child.kill()
            raise CannotIsolate(str(ready["refused"]))
        child.agree(secrets.token_hex(16))
        return child

    def rehearse(self, asked: Rehearsal) -> None:
        """Let the template load a lesson's exercises and run released cells and probes, so that no child does it first.

        Raises CannotIsolate if a new template cannot be isolated, RuntimeError if the template ends.
        """
        with self._lock:
            if not self._rehearses(asked):
                self._template.end()  # it cannot be forked any more: start one that only loads the exercises
                self._template = TemplateProcess(self.isolated)
                self._template.wait()
                self._rehearses(Rehearsal(asked.lesson, asked.modules))

    def _rehearses(self, asked: Rehearsal) -> bool:
        """Run a rehearsal in the template. Return whether the template can still be forked."""
        with tempfile.TemporaryFile() as file:  # a lesson exceeds the socket's largest message
            file.write(json.dumps(asdict(asked)).encode())
            file.seek(0)
            socket.send_fds(self._template.control, [b'{"do": "rehearse"}'], [file.fileno()])
            return bool(json.loads(self._template.control.recv(LARGEST_REPLY) or b"{}").get("single"))


class Child:
    """One isolated process."""

    def __init__(self, channel: Channel, handle: int, limits: Limits) -> None:
        self._channel, self._handle, self._limits = channel, handle, limits
        # The template sees numbers of another PID namespace; the kernel gives the number in ours.
        fields = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines())
        self._process = int(fields["Pid"])

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def agree(self, key: str) -> None:
        """Give the child the channel's key before any student code runs. Raises Ended if the child is gone."""
        try:
            self._channel.send({"key": key}, seconds=_START)
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
            self._channel.send(*questions, seconds=_START)
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
