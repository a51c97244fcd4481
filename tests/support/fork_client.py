"""A client of `CommandServer`, as a class and as a kernel's program.

The program's arguments are the server's ADDRESS and those of the kernel. As a program it passes an interrupt on, and
ends when its parent does. When it dies, so does its fork. It imports little, as it stands for a process that starts in
no time.
"""

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence


class Fork:
    """A fork that runs the command `arguments` of a server's program.

    `files` are the descriptors of its standard input, output and error, and of a socket, which has the number 3 there.
    `first` is Python code that runs before the command. The fork is killed when the object is closed.
    """

    def __init__(
        self,
        address: str,
        arguments: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        files: Sequence[int],
        first: str = "",
    ) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        socket.send_fds(self._connection, [b"\n"], files)
        request = json.dumps([list(arguments), folder, dict(environment), first])
        self._connection.sendall(f"{request}\n".encode())
        self._answers = self._connection.makefile()
        self.pid = int(self._answers.readline())

    def has_ended(self, seconds: float = 0) -> bool:
        """Return whether the command has ended. Waits up to `seconds` for its end."""
        return bool(select.select([self._connection], [], [], seconds)[0])

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises TimeoutError after `timeout` seconds."""
        self._connection.settimeout(timeout)
        return int(self._answers.readline())

    def close(self) -> None:
        self._answers.close()
        self._connection.close()


if __name__ == "__main__":
    fork = Fork(sys.argv[1], sys.argv[2:], os.getcwd(), os.environ, [0, 1, 2])
    signal.signal(signal.SIGINT, lambda *_: os.killpg(fork.pid, signal.SIGINT))
    parent = os.getppid()
    while not fork.has_ended(1):
        if os.getppid() != parent:
            sys.exit(1)
    sys.exit(fork.wait())
