"""Commands that are killed at some moment, as by kill -9 or a power cut."""

from __future__ import annotations

import signal
from pathlib import Path

from support.course import run_autograder

# Counts what the process is about to change in a folder: files opened to write, renamed, removed, folders made.
_KILL = """
import os, signal, sys

left = {at}

def watch(event, arguments):
    global left
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
    elif event not in ("os.rename", "os.mkdir", "os.remove", "os.rmdir"):
        return
    if str(arguments[0]).startswith({root!r}):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
"""


def run(*arguments: object, status: int | None = 0) -> str:
    """Run `autograder ...` in a process of its own. Returns what it said."""
    done = run_autograder(*arguments)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert status is None or done.returncode == status, said
    return said


def run_killed(folder: Path, at: int, *arguments: object) -> None:
    """Run `autograder ...` and kill it right before its change number `at` in `folder`."""
    done = run_autograder(*arguments, first=_KILL.format(at=at, root=str(folder)))
    assert done.returncode == -signal.SIGKILL, (arguments, done.stdout[-2000:], done.stderr[-2000:])
