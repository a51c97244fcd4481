"""The warm process: it has imported all that lessons use, and each submission runs in a fork of it.

It never calls backward, runs a parallel op or touches CUDA: after these a fork is not usable. It knows no solution, no
secret and no course folder, and is started with an environment of its own, so a child finds none of these in memory.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile

import matplotlib
import torch
from matplotlib_inline.backend_inline import configure_inline_support

from ... import exercises
from .channel import Channel, Closed
from .child import Shell, serve
from .guard import Guard
from .isolation import HOME, CannotIsolate, Limits, end_with_parent, enter

FORK, IMPORT = "fork", "import"


def main() -> None:
    """Serve forks over the socket whose descriptor is the first argument, until it is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    torch.set_num_threads(1)
    shell = warm_shell()
    for lesson in exercises.lessons():
        exercises.load(lesson)
    control.send(b"{}")
    guard: Guard | None = None
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not data:
            os._exit(0)
        asked = json.loads(data)
        if asked["do"] == IMPORT:
            _import(asked["modules"])
            guard = None
            control.send(b"{}")
            continue
        if guard is None:
            guard = Guard()
            gc.collect()
            gc.freeze()  # a collection in a child would touch, and so copy, every page of the template
        (end,) = descriptors
        process = os.fork()
        if process == 0:
            control.close()
            _become_child(end, shell, guard, Limits(**asked["limits"]), asked["isolated"])
        os.close(end)
        handle = os.pidfd_open(process)
        socket.send_fds(control, [json.dumps({"process": process}).encode()], [handle])
        os.close(handle)
        _reap()


def warm_shell() -> Shell:
    """IPython with everything imported that takes long, and its figures shown where they are made."""
    shell: Shell = Shell.instance(colors="nocolor")
    matplotlib.use("module://matplotlib_inline.backend_inline")
    matplotlib.interactive(True)  # a figure shows when its cell ends
    configure_inline_support(shell, "module://matplotlib_inline.backend_inline")  # type: ignore[no-untyped-call]
    # torch._dynamo comes with the first optimizer step or check of gradients, takes a second, and puts other functions
    # in the place of some of torch's own: before the guard looks.
    shell.run_cell("import matplotlib.pyplot, sympy, torch._dynamo, torch.func, torch.testing")
    shell.reset()
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            with contextlib.suppress(Exception):  # the first optimizer of a class puts a hook around its `step`
                kind([torch.nn.Parameter(torch.zeros(1))])  # type: ignore[call-arg]
    return shell


def _import(names: list[str]) -> None:
    """Modules that the lesson's own solution imports as it goes: a child need not do it again."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become_child(end: int, shell: Shell, guard: Guard, limits: Limits, isolated: bool) -> None:
    """Never returns."""
    try:
        end_with_parent()
        _only(end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the grader's affair
        channel = Channel(socket.socket(fileno=end))
        try:
            if isolated:
                enter(limits)
            else:
                _as_it_is()
        except (CannotIsolate, OSError) as refused:
            channel.send({"refused": str(refused)})
            os._exit(1)
        home = HOME if isolated else os.getcwd()
        os.environ.clear()
        os.environ.update(PATH="/usr/bin:/bin", HOME=home, LANG="C.UTF-8", NBGRADER_EXECUTION="autograde")
        os.environ.update(TMPDIR="/tmp" if isolated else home, MPLCONFIGDIR=home)
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, signal.default_int_handler)
        channel.send({})
        serve(channel, shell, guard, limits)
    except Closed:
        pass
    finally:
        os._exit(1)


def _as_it_is() -> None:
    """Without isolation: a folder of its own, which is removed when the child has ended, and nothing more."""
    folder = tempfile.mkdtemp(prefix="autograder-")
    os.setsid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)
    end_with_parent()
    os.chdir(folder)


def _only(end: int) -> None:
    """Close every file descriptor but `end`; standard ones lead nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number != end:
            with contextlib.suppress(OSError):
                os.close(number)
