"""The grader's side of isolation: start the warm template, fork a child of it for each submission, ask, and kill.

Everything that comes from a child is what a student's code may have written: it is bounded, checked and never run.
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
from dataclasses import asdict, dataclass, field
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

_GRACE = 3.0  # seconds after a child should have stopped a cell itself
_START = 60.0  # seconds that a fork and its namespaces may take on a busy machine, and to take what is sent


class Ended(Exception):
    """A child is gone before its time; `why` is a word for it: "time", "memory", "died" or "nonsense"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Engine:
    """A template and its children. One engine serves any number of threads; use it as a context manager.

    Raises CannotIsolate, and RuntimeError when the template ends while it is `starting`.
    """

    def __init__(
        self, limits: Limits | None = None, *, isolated: bool = True, starting: TemplateProcess | None = None
    ) -> None:
        self.limits, self.isolated = limits or Limits(), isolated
        self._lock = threading.Lock()
        self._sibling: Child | None = None
        self._sibling_lock = threading.Lock()
        self._template = starting or TemplateProcess(isolated)
        self._template.wait()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the template, and with it every child."""
        if self._sibling is not None:
            self._sibling.kill()
            self._sibling = None
        self._template.end()

    @property
    def alive(self) -> bool:
        return self._template.alive

    def fork(self) -> Child:
        """A new child on the cores of this thread, which has run nothing yet.

        Raises CannotIsolate, or Ended when there is no template any more.
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
        except Ended as ended:  # before any line of a submission has run: not its fault, whatever it was
            child.kill()
            raise Ended("died") from ended
        if "refused" in ready:
            child.kill()
            raise CannotIsolate(str(ready["refused"]))
        child.agree(secrets.token_hex(16))
        return child

    def rehearse(self, asked: Rehearsal) -> None:
        """Let the template load a lesson's exercises and run what is no secret, so that no child does it first.

        Raises CannotIsolate, and RuntimeError when the template ends.
        """
        with self._sibling_lock, self._lock:
            if self._sibling is not None:
                self._sibling.kill()
            self._sibling = None
            if not self._rehearses(asked):
                self._template.end()  # it cannot be forked any more: another one, which only loads the exercises
                self._template = TemplateProcess(self.isolated)
                self._template.wait()
                self._rehearses(Rehearsal(asked.lesson, asked.module))

    def _rehearses(self, asked: Rehearsal) -> bool:
        """Tell whether the template can still be forked after it has rehearsed."""
        with tempfile.TemporaryFile() as file:  # a message of the socket's is smaller than a lesson
            file.write(json.dumps(asdict(asked)).encode())
            file.seek(0)
            socket.send_fds(self._template.control, [b'{"do": "rehearse"}'], [file.fileno()])
            return bool(json.loads(self._template.control.recv(LARGEST_REPLY) or b"{}").get("single"))

    def fingerprint(self, salt: str, lesson: str, files: dict[str, str]) -> str:
        """What an untouched child that has begun a lesson answers to `do_guard`."""
        with self._sibling_lock:
            if self._sibling is None:
                self._sibling = self.fork()
            self._sibling.ask("begin", lesson=lesson, files=files)
            return str(self._sibling.ask("guard", salt=salt)["fingerprint"])


class Child:
    """One isolated process. `ask` and `kill` are all that can be done with it."""

    def __init__(self, channel: Channel, handle: int, limits: Limits) -> None:
        self._channel, self._handle, self._limits = channel, handle, limits
        # The template counts processes in a namespace of its own; what its number is here, the kernel tells.
        fields = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines())
        self._process = int(fields["Pid"])

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def agree(self, key: str) -> None:
        """Give the child the key of the channel, before any line of a student's runs. Raises Ended."""
        try:
            self._channel.send({"key": key}, seconds=_START)
        except Closed:
            raise Ended("died") from None
        self._channel.agree(key)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Ask for one thing (see `child`). A child that does not stop by itself in time is killed.

        Raises Ended.
        """
        self.send({"do": do, **arguments})
        return self.answer()

    def send(self, *questions: dict[str, Any]) -> None:
        """Ask, and do not wait: answers come in the order of the questions. Raises Ended."""
        try:
            self._channel.send(*questions, seconds=_START)
        except Closed:
            raise Ended("died") from None

    def answer(self) -> dict[str, Any]:
        """What it says to the first question that it has not answered. Raises Ended."""
        return self.receive(self._limits.cell_seconds + _GRACE)

    def receive(self, seconds: float) -> dict[str, Any]:
        """What it says next; the time in which others had its processor is not counted. Raises Ended."""
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
        """Return the seconds for which it was ready to run and others had its processor."""
        return waited(self._process)

    def _look(self) -> None:
        if sum(map(memory, descendants(self._process))) > self._limits.memory:
            raise Ended("memory")

    def kill(self) -> None:
        """End the child and everything it has started. Safe to call twice."""
        if self._handle < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        os.close(self._handle)
        self._handle = -1
        self._channel.close()


@dataclass
class Salts:
    """One secret number for each check that is reached, the same for a whole run: what an untouched child answers to
    it is asked once. A child learns it after it has answered."""

    engine: Engine
    _known: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    def of(self, lesson: str, files: dict[str, str], index: int) -> tuple[str, str]:
        """The number, and what an untouched child answers to it."""
        if (lesson, index) not in self._known:
            salt = secrets.token_hex(8)
            self._known[lesson, index] = salt, self.engine.fingerprint(salt, lesson, files)
        return self._known[lesson, index]
