"""The warm fork server, which is forked for each submission.

The fork server has imported and run everything that lessons use. A process with several threads or with CUDA cannot be
forked safely. The fork server therefore has one thread and never uses CUDA.
A child inherits the fork server's memory. The fork server therefore knows no solution, secret or course folder. Its
environment variables hold nothing of the instructor's.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import tempfile
from itertools import chain
from types import ModuleType
from typing import Any

import torch

from .... import exercises
from ....exercises.module_texts import importable, modules_of
from ...conspicuous.code_reader import released_paths
from ...conspicuous.protected_names import protected_names
from ...demonstrations.needless_cells import Demonstrations
from ...limits import Limits
from ...wall_kinds import Wall
from ..child.guard import Guard
from ..child.signal_handlers import hide_frames
from ..child.stand_ins import StandIns
from ..child.threads import note_thread_starts
from ..child.worker import serve
from ..wall import landlock
from ..wall.clean_process import remove
from ..wall.filesystem import HOME, TMP
from ..wall.libc import CannotIsolate
from ..wall.namespaces import enter_root, isolate_child, new_pid_namespace
from ..wall.privileges import end_with_parent, refuse_huge_pages
from ..wire.channel import Channel, Closed
from ..wire.run_codec import Rehearsal
from .warmup import warm_shell, warm_up


class ForkServer:
    """The main object of the fork server, which serves the engine's requests.

    Requests and answers are JSON objects on the socket `control`. `wall` names the wall around its children.
    """

    def __init__(self, control: socket.socket, wall: Wall) -> None:
        self._control, self._wall = control, wall
        torch.set_num_threads(1)
        refuse_huge_pages()
        hide_frames()
        note_thread_starts()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a script ignores SIGINT
        self._shell = warm_shell()
        self._shell._orig_sys_modules_main_mod = None  # IPython's reference to the module that holds this object
        sys.modules["__mp_main__"] = sys.modules["__main__"]  # and multiprocessing's
        self._shell.builtin_trap.__enter__()  # permanently: the guard would report a change in each cell
        if wall == Wall.FULL:
            enter_root()
        elif wall == Wall.LANDLOCK:
            landlock.isolate_fork_server()
            exercises.forget_files()
        home, tmp = (HOME, TMP) if wall == Wall.FULL else (os.environ.get("HOME", "/"), tempfile.gettempdir())
        os.environ.clear()
        os.environ.update(PATH="/usr/bin:/bin", HOME=home, LANG="C.UTF-8", NBGRADER_EXECUTION="autograde")
        os.environ.update(TMPDIR=tmp, MPLCONFIGDIR=home)
        os.environ.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")  # there is no network
        tempfile.tempdir = None
        self._lesson = ""
        self._modules: dict[str, dict[str, ModuleType]] = {}  # exercises' modules by lesson; a child cannot import them
        self._paths, self._demonstrations = dict[str, str](), Demonstrations([], {})
        self._stand_ins = StandIns()
        sys.meta_path.insert(0, self._stand_ins)
        self._guard: Guard | None = None
        self._folders: dict[int, str | None] = {}  # temporary folders by process id; None in namespaces

    def serve(self) -> None:
        """Serve the engine's requests until the engine closes the socket. Then end this process."""
        with contextlib.suppress(ConnectionError):  # the grader was killed
            self._control.send(b"{}")
            while True:
                data, descriptors, _, _ = socket.recv_fds(self._control, 1 << 20, 1)
                if not data:
                    break
                asked = json.loads(data)
                getattr(self, f"do_{asked.pop('do')}")(*descriptors, **asked)
        os._exit(0)

    def do_rehearse(self, told: int) -> None:
        """Load a lesson's exercises, and run its cells and probes, for children that are forked later.

        `told` is the file descriptor of a JSON file with the fields of a `Rehearsal`.
        Sends the engine an object with the key `single`. Its value is true if this process started no new thread and
        can still be forked.
        """
        with open(told, encoding="utf-8") as file:
            asked = Rehearsal(**json.load(file))
        package = f"{exercises.__name__}.{exercises.SHARED}"
        shared = self._modules[exercises.SHARED] = modules_of(package, asked.shared)
        with importable(package, shared, {}):
            for lesson, texts in {asked.lesson: asked.modules, **asked.moved}.items():
                if texts:
                    self._modules[lesson] = modules_of(f"{exercises.__name__}.{lesson}", texts)
        single, ran = warm_up(self._shell, self._modules, asked)
        self._lesson, self._guard = asked.lesson, None
        protected_names.cache_clear()  # another lesson imports other modules
        protected_names()  # children inherit them
        self._paths = released_paths(chain(*asked.notebooks), self._shell.transform_cell)
        self._demonstrations = Demonstrations(ran, self._paths)
        self._control.send(json.dumps({"single": single}).encode())

    def do_fork(self, end: int, limits: dict[str, Any], cores: list[int]) -> None:
        """Fork a child that runs on the CPU cores `cores`.

        The child serves the grader on the socket with the file descriptor `end`. `limits` maps the field names of
        `Limits` to values.
        Sends the engine a pidfd of the child: a file descriptor that stands for a process. The key `folder` has the
        child's folder, or None in namespaces.
        """
        if self._guard is None:
            self._guard = Guard(self._modules)
            self._guard.focus(self._lesson)
            gc.collect()
            gc.freeze()  # freeze the objects of the rehearsal, as `gc_frozen` does
        folder = None if self._wall == Wall.FULL else tempfile.mkdtemp()
        os.sched_setaffinity(0, cores)
        with new_pid_namespace() if self._wall == Wall.FULL else contextlib.nullcontext():
            process = os.fork()
        if process == 0:
            self._control.close()
            self._become_child(end, folder, self._guard, Limits(**limits))
        os.close(end)
        handle = os.pidfd_open(process)
        socket.send_fds(self._control, [json.dumps({"folder": folder}).encode()], [handle])
        os.close(handle)
        self._folders[process] = folder
        self._reap()

    def _reap(self) -> None:
        """Collect the exit status of children that have ended, and delete their temporary folders."""
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                if folder := self._folders.pop(ended, None):
                    try:
                        os.rmdir(folder)
                    except OSError:  # not empty
                        remove(folder)

    def _become_child(self, end: int, folder: str | None, guard: Guard, limits: Limits) -> None:
        """Finish the isolation of this process, a fresh fork, and serve the grader. Never returns.

        `end` is the file descriptor of the socket to the grader. Behind the full wall the child gets a file system of
        its own, and `folder` is None. Otherwise `folder` is its working folder.
        """
        try:
            end_with_parent()
            _only(end)
            channel = Channel(socket.socket(fileno=end))
            try:
                if folder is None:
                    isolate_child(limits)
                else:
                    _live_in(folder)
                    if self._wall == Wall.LANDLOCK:
                        landlock.isolate_child(folder, limits)
            except (CannotIsolate, OSError) as refused:
                channel.send({"refused": str(refused)})
                os._exit(1)
            channel.send({})
            serve(
                channel,
                self._shell,
                guard,
                limits,
                self._modules,
                self._paths,
                self._demonstrations,
                self._stand_ins,
            )
        except Closed:
            pass
        finally:
            os._exit(1)


def _live_in(folder: str) -> None:
    """Make `folder` this child's working, home and temporary folder, and start a new session of processes."""
    os.setsid()
    os.chdir(folder)
    os.environ.update(HOME=folder, TMPDIR=folder, MPLCONFIGDIR=folder, USER="student")
    tempfile.tempdir = None


def _only(end: int) -> None:
    """Close every file descriptor except `end`. Redirect 0, 1 and 2 to /dev/null."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number != end:
            with contextlib.suppress(OSError):
                os.close(number)
