"""A process that runs nbgrader commands in forks of itself.

The imports take 3.7 of the 4.7 s that a short `nbgrader` command takes. A fork has the arguments, folder, environment
and exit status of a process of its own. Our package is imported in it, as nbgrader's config asks for it.

Reads JSON from standard input, a line for a command: arguments, folder, environment and where its output goes. Writes
its exit status to standard output.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

_BIN = Path(sys.executable).parent


class NbgraderServer:
    """The process, from outside."""

    def __init__(self) -> None:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        environment |= {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
        command = [sys.executable, __file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        self._lock = threading.Lock()
        atexit.register(self.close)

    def run(self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str], log: Path) -> int:
        """Run `nbgrader ARGUMENTS`; what it writes on stdout and stderr goes to `log`. Returns the exit status."""
        assert self._process.stdin
        assert self._process.stdout
        with self._lock:
            request = [arguments, str(folder.resolve()), environment, str(log)]
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        with self._process:  # closes its standard input, at whose end it ends
            pass


def _run(arguments: list[str], folder: str, environment: dict[str, str], log: str) -> None:
    """Be the command, in a fork."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [str(_BIN / "nbgrader"), *arguments]
    status: object = 0
    try:
        from nbgrader.apps.nbgraderapp import main

        status = main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(status or 0))  # type: ignore[call-overload]


if __name__ == "__main__":
    import nbgrader.apps.nbgraderapp  # noqa: F401
    import torch  # noqa: F401

    sys.path[0] = str(_BIN)  # instead of this folder
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
