"""The fork server's process, started without waiting for it.

The fork server needs seconds to import torch. The caller can do other work until the fork server is ready.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from types import TracebackType

from ....errors import UserError
from ...wall_kinds import Wall
from ..wall.clean_process import environment, remove
from ..wall.libc import CannotIsolate
from ..wall.walls import strongest

_PROGRAM = "autograder.grading.sandbox.server"  # importing it here would import torch
LARGEST_REPLY = 4096  # bytes of one message from the fork server
NEEDS_LINUX = (
    "grading runs students' code in Linux namespaces, and this is not Linux: grade in a Docker container or on a Linux "
    "machine (the notebooks, `check` and `autograder report` work here)"
)


class ForkServerProcess:
    """A started fork server, and the socket `control` to it.

    `isolation` is the wall around its children, or AUTO. Use the object as a context manager: at the end of the `with`
    block the fork server is killed.
    Raises UserError if the system is not Linux.
    """

    def __init__(self, isolation: Wall) -> None:
        if sys.platform != "linux":
            raise UserError(NEEDS_LINUX)
        self.wall = strongest(isolation)
        self._folder = None if self.wall == Wall.FULL else tempfile.TemporaryDirectory(prefix="autograder-")
        variables = environment()
        variables["TORCH_COMPILE_DISABLE"] = "1"  # there is no C compiler in the sandbox
        variables["MALLOC_MMAP_THRESHOLD_"] = str(1 << 16)  # for `TouchedMemory`
        if self._folder:
            variables["TMPDIR"] = self._folder.name
        if self.wall != Wall.FULL:
            variables["CUDA_VISIBLE_DEVICES"] = ""  # with a GPU, backward passes would start threads
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", _PROGRAM, str(theirs.fileno()), self.wall],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd="/",
                env=variables,
                start_new_session=True,
            )

    def __enter__(self) -> ForkServerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.end()

    def wait(self) -> None:
        """Wait until the fork server is ready to fork children.

        Raises CannotIsolate if the kernel refuses isolation, RuntimeError if the fork server has ended.
        """
        said = self.control.recv(LARGEST_REPLY)
        refused = json.loads(said or b"{}").get("refused")
        if said and not refused:
            return
        self.end()
        if refused:
            raise CannotIsolate(str(refused))
        raise RuntimeError("the fork server ended while it was starting; its message is above")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Kill the fork server and all its children. Safe to call twice."""
        self.process.kill()
        self.process.wait()
        self.control.close()
        if self._folder:
            remove(self._folder.name).wait()
            self._folder.cleanup()
            self._folder = None
