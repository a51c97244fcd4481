"""The template's process from its start on: it takes seconds to get ready, in which others can work."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from types import TracebackType

from .libc import CannotIsolate

LARGEST_REPLY = 4096  # bytes of a message from it


class TemplateProcess:
    """One such process, `control` the socket to it. As a context manager it ends the process if nobody else did."""

    def __init__(self, isolated: bool) -> None:
        self.isolated = isolated
        self._folder = None if isolated else tempfile.TemporaryDirectory(prefix="autograder-")
        environment = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
        environment |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"  # its heap is in huge pages: see `memory`
        if self._folder:
            environment["TMPDIR"] = self._folder.name
        else:
            environment["CUDA_VISIBLE_DEVICES"] = ""  # no device can be seen inside, and with one, backward has threads
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", __package__, str(theirs.fileno()), "full" if isolated else "none"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd="/",
                env=environment,
                start_new_session=True,
            )

    def __enter__(self) -> TemplateProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.end()

    def wait(self) -> None:
        """Until it can be forked. Raises CannotIsolate, and RuntimeError when it has ended."""
        said = self.control.recv(LARGEST_REPLY)
        refused = json.loads(said or b"{}").get("refused")
        if said and not refused:
            return
        self.end()
        if refused:
            raise CannotIsolate(str(refused))
        raise RuntimeError("the template process ended while it was starting; its message is above")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Kill it, and so all its children. Safe to call twice."""
        self.process.kill()
        self.process.wait()
        self.control.close()
        if self._folder:
            self._folder.cleanup()
