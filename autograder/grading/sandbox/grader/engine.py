"""The grader's side of the sandbox: fork server, children, rehearsal."""

from __future__ import annotations

import json
import os
import secrets
import socket
import tempfile
import threading
from dataclasses import asdict, replace
from types import TracebackType

from ...limits import Limits
from ...wall_kinds import Wall
from ..wall.filesystem import HOME, TMP
from ..wall.libc import CannotIsolate
from ..wire.channel import LARGEST_ANSWER, Channel
from ..wire.run_codec import Rehearsal
from ..wire.wire_messages import ServerRequest
from .fork_server_process import LARGEST_REPLY, ForkServerProcess
from .resource_watch import Ending
from .student_process import START_SECONDS, Ended, StudentProcess


class Engine:
    """A fork server and its children, the students' processes.

    Any number of threads may use one engine. Use the engine as a context manager: at the end of the `with` block the
    fork server is killed. `wall` is the wall around the children. `starting` is a fork server that has been started in
    advance, and may not be ready yet. If it is None, the engine starts a fork server.
    Raises CannotIsolate if the kernel refuses isolation, RuntimeError if the fork server ends while it is starting.
    """

    def __init__(
        self, limits: Limits | None = None, *, wall: Wall = Wall.FULL, starting: ForkServerProcess | None = None
    ) -> None:
        self.limits, self.wall = limits or Limits(), wall
        self._lock = threading.Lock()
        self._server = starting or ForkServerProcess(wall)
        self._server.wait()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Kill the fork server and all its children."""
        self._server.end()

    @property
    def alive(self) -> bool:
        return self._server.alive

    def fork(self) -> StudentProcess:
        """Return a new child that has run nothing yet.

        The child may use the CPU cores of the calling thread.
        Raises CannotIsolate if the kernel refuses isolation, Ended if the fork server is gone.
        """
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            try:
                cores = list(os.sched_getaffinity(0))
                asked = json.dumps({"do": ServerRequest.FORK, "limits": asdict(self.limits), "cores": cores})
                socket.send_fds(self._server.control, [asked.encode()], [theirs.fileno()])
                reply, (handle, *_), _, _ = socket.recv_fds(self._server.control, LARGEST_REPLY, 1)
            except (OSError, ValueError) as error:
                ours.close()
                raise Ended(Ending.DIED) from error
        folder = json.loads(reply)["folder"]
        watched = folder if self.wall == Wall.LANDLOCK else None
        mounts = (HOME, TMP) if self.wall == Wall.FULL else ()
        child = StudentProcess(Channel(ours, LARGEST_ANSWER), handle, self.limits, watched, mounts)
        try:
            ready = child.receive(START_SECONDS)
        except Ended as ended:  # no line of the submission has run yet, so it is not at fault
            child.kill()
            raise Ended(Ending.DIED) from ended
        if "refused" in ready:
            child.kill()
            raise CannotIsolate(str(ready["refused"]))
        child.agree(secrets.token_hex(16))
        return child

    def rehearse(self, asked: Rehearsal) -> None:
        """Let the fork server run the rehearsal `asked`: a lesson's exercises, released cells and probes.

        Children that are forked later inherit the effects. If the fork server cannot be forked after the rehearsal, a
        new fork server replaces it. The new fork server rehearses without answers, or only loads the exercises.
        Raises CannotIsolate if a new fork server cannot be isolated, RuntimeError if the fork server ends.
        """
        with self._lock:
            for each in (asked, replace(asked, answers={}, helpers={})):
                if self._rehearses(each):
                    return
                self._server.end()
                self._server = ForkServerProcess(self.wall)
                self._server.wait()
            self._rehearses(Rehearsal(asked.lesson, asked.modules, moved=asked.moved, shared=asked.shared))

    def _rehearses(self, asked: Rehearsal) -> bool:
        """Run a rehearsal in the fork server. Return whether the fork server can still be forked."""
        with tempfile.TemporaryFile() as file:  # a lesson exceeds the socket's largest message
            file.write(json.dumps(asdict(asked)).encode())
            file.seek(0)
            request = json.dumps({"do": ServerRequest.REHEARSE})
            socket.send_fds(self._server.control, [request.encode()], [file.fileno()])
            return bool(json.loads(self._server.control.recv(LARGEST_REPLY) or b"{}").get("single"))
