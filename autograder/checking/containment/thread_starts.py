"""Refusal of new threads and processes while something is counted."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

# `threading.Thread.start` calls the first from Python 3.13 on, before that the second.
_START = next(name for name in ("_start_joinable_thread", "_start_new_thread") if hasattr(threading, name))
_STARTS = itertools.count()  # of threads that `note_start` was told of
# Windows has none of these, nor `os.fork`.
_PROGRAM_STARTS = [
    (module, name)
    for module in (subprocess, sys.modules.get("_posixsubprocess"), os)
    for name in ("_fork_exec", "fork_exec", "posix_spawn", "posix_spawnp")
    if hasattr(module, name)
]
_FORKS = itertools.count()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_FORKS.__next__)


class StartedThread(RuntimeError):
    """An error: a thread or process was started while something is counted."""

    def __init__(self) -> None:
        super().__init__("what one thread does is counted: start no thread and no process in the block")


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Raise StartedThread at the end of a `with` block that has started a Python thread or a process.

    Threads that other threads start at the same time do not count: the grader has such. Threads of C code are not seen.
    """
    starts = repr(_STARTS)  # `next` would count one
    with in_one_process(), _refusing([(threading, _START)]):
        yield
    if repr(_STARTS) != starts:
        raise StartedThread


def note_start() -> None:
    """Note the start of a thread.

    Grading calls it at each start: student code may have kept a function that starts threads.
    """
    next(_STARTS)


@contextmanager
def in_one_process() -> Iterator[None]:
    """Raise StartedThread at the end of the `with` block if the block has started a process."""
    forks = repr(_FORKS)
    with _refusing(_PROGRAM_STARTS):
        yield
    if repr(_FORKS) != forks:
        raise StartedThread


@contextmanager
def _refusing(starts: list[tuple[Any, str]]) -> Iterator[None]:
    """Raise StartedThread at the end of the `with` block if the block has called one of these functions."""
    this, called = threading.get_ident(), []

    def noting(start: Any) -> Any:
        def noted(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() == this:
                called.append(True)
            return start(*arguments, **named)

        return noted

    with ExitStack() as stack:
        for module, name in starts:
            start = getattr(module, name)
            stack.callback(setattr, module, name, start)
            setattr(module, name, noting(start))
        yield
    if called:
        raise StartedThread
