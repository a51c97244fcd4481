"""The fork server's process, started without waiting for it.

The fork server needs seconds to import torch. The caller can do other work until the fork server is ready.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from types import TracebackType

from ...errors import UserError
from .libc import CannotIsolate

LARGEST_REPLY = 4096  # bytes of one message from the fork server
NEEDS_LINUX = (
    "grading runs students' code in Linux namespaces, and this is not Linux: grade in a Docker container or on a Linux "
    "machine (the notebooks, `check` and `autograder report` work here)"
)


class ForkServerProcess:
    """A started fork server, and the socket `control` to it.

    If `isolated` is True, the fork server and its children run in Linux namespaces. Use the object as a context
    manager: at the end of the `with` block the fork server is killed.
    Raises UserError if the system is not Linux.
    """

    def __init__(self, isolated: bool) -> None:
        if sys.platform != "linux":
            raise UserError(NEEDS_LINUX)
        self.isolated = isolated
        self._folder = None if isolated else tempfile.TemporaryDirectory(prefix="autograder-")
        environment = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
        environment |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        environment["TORCH_COMPILE_DISABLE"] = "1"  # there is no C compiler in the sandbox
        if self._folder:
            environment["TMPDIR"] = self._folder.name
        else:
            environment["CUDA_VISIBLE_DEVICES"] = ""  # with a GPU, backward passes would start threads
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
            self._folder.cleanup()
