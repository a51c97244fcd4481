"""Files in a course folder during grading: locks, records, atomic replacement."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import find_all_files

from ...errors import UserError

GRADING_RECORD = ".autograder.json"  # in an autograded folder: holds a `Record`
_SCRATCH = "collect-"
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True)
class Record:
    """The stored record of a graded submission.

    `submitted` is the digest of the submitted files. `renamed` maps the released names of notebooks to submitted paths.
    Only notebooks that the student renamed are in `renamed`.
    """

    submitted: str
    renamed: dict[str, str] = field(default_factory=dict)


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
    """Yield a temporary folder on the disk of the course in the folder `root`. This is a context manager.

    The folders of killed processes are removed. Each process locks its own, and the kernel unlocks those of the killed.
    """
    above = root / ".autograder"
    above.mkdir(mode=0o700, exist_ok=True)
    for left in above.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError), _locked_folder(left):
            _remove(left)
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


def replace_json(path: Path, data: Any) -> None:
    """Write `data` into a file as JSON, atomically."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    draft.replace(path)


def file_of(folder: Path, student: str) -> Path:
    """Return the path of a student's file in `folder`.

    The file name is a hash, because student names may have any characters and any length.
    """
    return folder / f"{hashlib.sha256(os.fsencode(student)).hexdigest()[:32]}.json"


@contextlib.contextmanager
def temporary_sibling(place: Path) -> Iterator[Path]:
    """Yield, as a context manager, a new folder next to `place`, on the same disk.

    At the end of the `with` block, the new folder is removed unless it was moved.
    """
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
    """Write a graded submission and its record into `folder`, as `nbgrader autograde` does.

    The folder `source` holds the assignment's files. Files that match one of the patterns `ignore` are not copied.
    `files` maps relative paths to contents of the student's other files. If the assignment has a file with the same
    path, the student's file is omitted. `notebooks` maps released names to graded notebooks.
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
    (folder / GRADING_RECORD).write_text(json.dumps(asdict(record)), encoding="utf-8")
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Write a graded notebook to the file `path`, with one line of JSON per cell.

    nbformat's own function copies the notebook first, and takes ten times as long.
    """
    rest = {key: value for key, value in notebook.items() if key != "cells"}
    cells = ",\n".join(map(_ENCODER.encode, notebook.cells))
    text = f'{{"cells": [\n{cells}\n],\n{_ENCODER.encode(rest)[1:]}\n'
    # Printed text may hold a lone surrogate, which cannot be written to a file.
    path.write_text(text, encoding="utf-8", errors="replace")


def recorded(place: Path) -> Record:
    """Return the record that `write_result` left in the folder `place`.

    If there is no valid record, returns a record with an empty digest.
    """
    try:
        return Record(**json.loads((place / GRADING_RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Record("")


def drop_record(place: Path) -> None:
    """Remove the record in the folder `place`. The next grading then grades the submission again."""
    (place / GRADING_RECORD).unlink(missing_ok=True)


def swap_in(place: Path, folder: Path) -> None:
    """Replace the folder `place` by the folder `folder`, which is moved to `place`."""
    old = place.parent / f".{place.name}.old"
    with contextlib.suppress(FileNotFoundError):
        place.rename(old)
    folder.rename(place)
    _remove(old)


def remove_leftovers(place: Path) -> None:
    """Remove temporary folders that a killed grader left next to the folder `place`.

    The caller must hold the assignment's lock.
    """
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        if left.suffix == ".old" or left.suffix[1:].isdigit():
            _remove(left)


def describe_error(error: OSError, where: Path) -> str:
    """Return a sentence with the file and the cause of an error.

    If the error does not name a file, the sentence names `where`.
    """
    return f"{error.filename or where}: {error.strerror or error}"


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
