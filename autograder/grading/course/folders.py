"""What stands in a course folder while it is graded: one grader, and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import find_all_files

from ...errors import UserError

RECORD = ".autograder.json"  # beside an autograded notebook: what it was made from
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True)
class Record:
    """A digest of what was handed in, and the paths of notebooks that had another name than the released one."""

    submitted: str
    renamed: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def locked(root: Path, assignment: str) -> Iterator[None]:
    """Let no second grader work on the same assignment. The lock ends with the process, however it ends.

    Raises UserError when another one is at work, or when the course folder cannot be written.
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
def temporary_sibling(place: Path) -> Iterator[Path]:
    """A new folder on the same disk, which is gone in the end unless it was moved."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.parent / f".{place.name}.{os.getpid()}"
    draft.mkdir()
    try:
        yield draft
    finally:
        _remove(draft)


def write_result(
    folder: Path,
    files: Mapping[str, bytes],
    source: Path,
    ignore: Sequence[str],
    notebooks: Mapping[str, NotebookNode],
    record: Record,
) -> None:
    """Put a graded submission into `folder`, as `nbgrader autograde` does, and what it was made of.

    Of the student's `files` those are left out in whose place lies one of the assignment's own, from `source`.
    """
    for found in map(Path, find_all_files(str(source), [*ignore, "*.ipynb"])):
        path = folder / found.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, path)
    for name, notebook in notebooks.items():
        write_notebook(folder / f"{name}.ipynb", notebook)
    for name, data in files.items():
        path = folder / name
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
    (folder / RECORD).write_text(json.dumps(asdict(record)), encoding="utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Write a graded notebook, a cell in each line: nbformat's own way copies it first and takes ten times as long."""
    rest = {key: value for key, value in notebook.items() if key != "cells"}
    cells = ",\n".join(map(_ENCODER.encode, notebook.cells))
    text = f'{{"cells": [\n{cells}\n],\n{_ENCODER.encode(rest)[1:]}\n'
    # What was printed may hold half a character, which no file can.
    path.write_text(text, encoding="utf-8", errors="replace")


def recorded(place: Path) -> Record:
    """Return the record that `write_result` left in `place`; an empty one if there is none."""
    try:
        return Record(**json.loads((place / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Record("")


def drop_record(place: Path) -> None:
    """Let what is in `place` count as made of something else."""
    (place / RECORD).unlink(missing_ok=True)


def swap_in(place: Path, folder: Path) -> None:
    """Put `folder` in the place of what is there."""
    old = place.parent / f".{place.name}.old"
    with contextlib.suppress(FileNotFoundError):
        place.rename(old)
    folder.rename(place)
    _remove(old)


def remove_leftovers(place: Path) -> None:
    """Remove what a grader that was killed has left beside `place`. Only while no other grader is at work."""
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        if left.suffix == ".old" or left.suffix[1:].isdigit():
            _remove(left)


def describe_error(error: OSError, where: Path) -> str:
    """The file and the cause; `where` when the system does not say which file it was."""
    return f"{error.filename or where}: {error.strerror or error}"


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
