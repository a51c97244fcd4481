"""Commands that are killed at some moment, as by kill -9 or a power cut."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

# Counts what the process is about to change in a folder: files opened to write, renamed, removed, folders made.
_RUNNER = """
import os, signal, sys

left, root = int(sys.argv[1]), sys.argv[2]

def watch(event, arguments):
    global left
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
    elif event not in ("os.rename", "os.mkdir", "os.remove", "os.rmdir"):
        return
    if str(arguments[0]).startswith(root):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
from autograder.cli import main

status = main(sys.argv[3:])
print("changes before the end:", int(sys.argv[1]) - left, file=sys.stderr)
sys.exit(status)
"""


def run(*arguments: object, status: int | None = 0) -> str:
    """Run `autograder ...` in a process of its own. Returns what it said."""
    command = [sys.executable, "-m", "autograder.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert status is None or done.returncode == status, said
    return said


def run_killed(folder: Path, at: int, *arguments: object) -> None:
    """Run `autograder ...` and kill it right before its change number `at` in `folder`."""
    command = [sys.executable, "-c", _RUNNER, str(at), str(folder), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, (arguments, done.stdout[-2000:], done.stderr[-2000:])
