"""A process that runs commands of nbgrader, or of ours, kernels, or fork servers, in forks of itself.

The imports take 3.7 of the 4.7 s that a short `nbgrader` command takes, 2.5 of the 6 s of a short `autograder grade`,
1.9 of the 2.1 s in which a kernel starts and imports torch, and 1.1 s before its first plot. A fork has the arguments,
folder, environment, files and exit status of a process of its own. In nbgrader and in a kernel our package is imported
by the fork.

All workers of a run of the tests share it. The program's arguments are its kind, the address of its Unix socket and
the process that it ends with; for commands also the address of the process that forks their sandbox's fork servers.
All forks end with their clients.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, NoReturn

import support
from support.fork_client import Fork
from support.forked_sandbox import subprocess_with_forks
from support.once import once

_BIN = Path(sys.executable).parent
# What a fork server's process has from its start.
_SANDBOX = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 16),
    "HOME": os.environ.get("HOME", "/"),
    "OMP_NUM_THREADS": "1",
    "TORCH_COMPILE_DISABLE": "1",
}


class CommandServer:
    """The process, from outside. `program` is "nbgrader", "autograder", "kernel" or "sandbox"."""

    def __init__(self, program: str, *more: str) -> None:
        place = support.made_courses / f"server-{program}"

        def start() -> None:
            address = str(Path(tempfile.mkdtemp(prefix="forks-"), "socket"))
            environment = {"PATH": f"{_BIN}:/usr/bin:/bin", "LANG": "C.UTF-8"}
            environment |= _SANDBOX if program == "sandbox" else {}
            environment |= {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
            whole_run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
            command = [sys.executable, "-m", __name__, program, address, str(whole_run), *more]
            tests, nothing = Path(__file__).parents[1], subprocess.DEVNULL
            process = subprocess.Popen(
                command, cwd=tests, env=environment, stdin=nothing, stdout=subprocess.PIPE, start_new_session=True
            )
            process.returncode = 0  # nobody waits for it, and the object shall not warn that it runs
            assert process.stdout
            with process.stdout as said:
                said.readline()  # says that it listens
            (place / "address").write_text(address)

        once(place, start)
        self.address = (place / "address").read_text()

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        out: IO[str],
        err: IO[str],
        first: str = "",
        timeout: float | None = None,
    ) -> int:
        """Run `PROGRAM ARGUMENTS`. Returns the exit status.

        `first` is Python code that runs before the command.
        Raises TimeoutError if the command takes longer than `timeout` seconds; the command is killed then.
        """
        fork = self.start(arguments, folder, environment, out.fileno(), err.fileno(), first)
        try:
            return fork.wait(timeout)
        finally:
            fork.close()

    def start(
        self, arguments: Sequence[str], folder: Path, environment: dict[str, str], out: int, err: int, first: str = ""
    ) -> Fork:
        """Start `PROGRAM ARGUMENTS`. `out` and `err` are descriptors; the other arguments are those of `run`."""
        with open(os.devnull) as nothing:
            files = [nothing.fileno(), out, err]
            return Fork(self.address, arguments, str(folder.resolve()), environment, files, first)


def _serve(program: str, address: str, whole_run: str, sandbox: str = "") -> None:
    """Fork a handler for every connection, until the process `whole_run` has ended."""
    end = os.pidfd_open(int(whole_run))
    if sandbox:
        fork_server_process = importlib.import_module("autograder.grading.sandbox.grader.fork_server_process")
        fork_server_process.subprocess = subprocess_with_forks(sandbox)
    main = _import(program)
    sys.path[:1] = [] if program in ("kernel", "sandbox") else [str(_BIN)]  # instead of this folder
    gc.freeze()  # a fork that collected torch's objects would copy all pages of memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a handler
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("listening", flush=True)
        while end not in select.select([end, listener], [], [])[0]:
            connection, _ = listener.accept()
            if not os.fork():
                _handle(connection, program, main)
                os._exit(0)
            connection.close()
    shutil.rmtree(Path(address).parent)


def _handle(connection: socket.socket, program: str, main: Callable[[], object]) -> None:
    """Run a command in a fork, and kill the fork when the client goes.

    Sends the fork's id, then its exit status.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, *_ = socket.recv_fds(connection, 1, 4)
    with connection.makefile() as lines:
        request = json.loads(lines.readline())
    fork = os.fork()
    if not fork:
        connection.close()
        _run(files, program, main, *request)
    os.setpgid(fork, fork)
    for file in files:
        os.close(file)
    connection.sendall(f"{fork}\n".encode())
    handle = os.pidfd_open(fork)
    if handle not in select.select([handle, connection], [], [])[0]:
        os.killpg(fork, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{status}\n".encode())


def _run(
    files: list[int],
    program: str,
    main: Callable[[], object],
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    first: str,
) -> NoReturn:
    """Be the command."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [str(_BIN / program), *arguments]
    status: object = 0
    try:
        exec(first, {})
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


def _import(program: str) -> Callable[[], object]:
    """Import a program, and what takes it time. Returns its main function."""
    importlib.import_module("torch")
    if program in ("nbgrader", "autograder"):
        from support.table_version import api, ask_once

        ask_once()
        api.get_alembic_version()
    if program == "nbgrader":
        from nbgrader.apps.nbgraderapp import main
    elif program == "autograder":
        importlib.import_module("autograder.grading.commands.grade")
        from autograder.cli import main
    elif program == "sandbox":
        for name in ("torch._dynamo", "torch.func", "torch.testing", "matplotlib.pyplot", "sympy", "IPython"):
            importlib.import_module(name)
        main = partial(runpy.run_module, "autograder.grading.sandbox.server", run_name="__main__", alter_sys=True)
    else:
        for name in ("torch._dynamo", "matplotlib.backends.backend_agg"):  # for the first optimizer and the first plot
            importlib.import_module(name)
        os.environ["JPY_PARENT_PID"] = "1"  # is read by the import; without a parent a kernel speaks to a terminal
        importlib.import_module("ipykernel.kernelapp")
        main = _start_kernel
    return main  # type: ignore[no-any-return]


def _start_kernel() -> None:
    import matplotlib
    from ipykernel.kernelapp import launch_new_instance

    # A kernel says so in its environment, which matplotlib reads only when it is imported.
    matplotlib.use("module://matplotlib_inline.backend_inline")
    launch_new_instance()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
