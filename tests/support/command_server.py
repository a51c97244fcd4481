"""A process that runs commands of nbgrader, or of ours, in forks of itself.

The imports take 3.7 of the 4.7 s that a short `nbgrader` command takes, and 2.5 of the 6 s of a short `autograder
grade`. A fork has the arguments, folder, environment and exit status of a process of its own. In a command of nbgrader
our package is imported by the fork, as nbgrader's config asks for it.

The program's argument is "nbgrader" or "autograder". It reads JSON from standard input, a line for a command:
arguments, folder, environment, two files for the output, code to run first, and the most seconds. It writes the
command's exit status to standard output.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

_BIN = Path(sys.executable).parent


class CommandServer:
    """The process, from outside. `program` is "nbgrader" or "autograder"."""

    def __init__(self, program: str) -> None:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        environment |= {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
        command = [sys.executable, __file__, program]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        self._lock = threading.Lock()
        atexit.register(self.close)

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        out: Path,
        err: Path,
        first: str = "",
        timeout: float | None = None,
    ) -> int:
        """Run `PROGRAM ARGUMENTS`, whose stdout and stderr go to two files or one. Returns the exit status.

        `first` is Python code that runs before the command. After `timeout` seconds the command is killed.
        """
        assert self._process.stdin
        assert self._process.stdout
        with self._lock:
            request = [list(arguments), str(folder.resolve()), environment, str(out), str(err), first]
            self._process.stdin.write(json.dumps([request, timeout]) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        with self._process:  # closes its standard input, at whose end it ends
            pass


def _run(
    program: str, arguments: list[str], folder: str, environment: dict[str, str], out: str, err: str, first: str
) -> None:
    """Be the command, in a fork."""
    opened = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    complaints = opened if err == out else os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, opened), (2, complaints)):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [str(_BIN / program), *arguments]
    status: object = 0
    try:
        exec(first, {})
        status = _main(program)()
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


def _main(program: str) -> Callable[[], object]:
    """Import a program. Importing our grader is what takes time in `autograder grade`."""
    import torch  # noqa: F401

    if program == "nbgrader":
        from nbgrader.apps.nbgraderapp import main
    else:
        import autograder.grading.grade_command  # noqa: F401
        from autograder.cli import main
    return main  # type: ignore[no-any-return]


if __name__ == "__main__":
    _main(sys.argv[1])
    sys.path[0] = str(_BIN)  # instead of this folder
    for line in sys.stdin:
        request, timeout = json.loads(line)
        child = os.fork()
        if not child:
            _run(sys.argv[1], *request)
        handle = os.pidfd_open(child)
        if not select.select([handle], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
        os.close(handle)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
