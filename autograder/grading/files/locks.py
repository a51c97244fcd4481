"""Locks on an assignment and on temporary folders of a course."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...errors import UserError
from .atomic import describe_error, remove_folder

_SCRATCH = "collect-"


@contextlib.contextmanager
def locked(root: Path, assignment: str) -> Iterator[None]:
    """Keep a second grader away from an assignment during the `with` block. This is a context manager.

    `root` is the course folder, which holds a lock file. The kernel releases the lock when the process ends.
    Raises UserError if another grader holds the lock, or the course folder cannot be written.
    """
    folder = root / ".autograder"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / f"{assignment}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UserError(f"{describe_error(error, folder)}: a course folder must be writable to be graded") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise UserError(f"another grader is at work on {assignment}: wait for it, or end it") from None
    try:
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def scratch_folder(root: Path) -> Iterator[Path]:
    """Yield a temporary folder inside the course folder `root`. This is a context manager.

    Each process holds a lock on its temporary folder. Folders without a lock, left by killed processes, are removed
    first.
    """
    above = root / ".autograder"
    above.mkdir(mode=0o700, exist_ok=True)
    for left in above.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError), _locked_folder(left):
            remove_folder(left)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=above) as folder, _locked_folder(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder in the `with` block. Raises BlockingIOError if another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
