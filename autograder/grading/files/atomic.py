"""Files and folders that are replaced as a whole."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def replace_json(path: Path, data: Any) -> None:
    """Write `data` into a file as JSON, atomically."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    draft.replace(path)


def file_of(folder: Path, student: str) -> Path:
    """Return the path of a student's JSON file in `folder`, such as `FOLDER/8f43a0....json`.

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
        remove_folder(draft)


def swap_in(place: Path, folder: Path) -> None:
    """Replace the folder `place` by the folder `folder`, which is moved to `place`."""
    old = place.parent / f".{place.name}.old"
    with contextlib.suppress(FileNotFoundError):
        place.rename(old)
    folder.rename(place)
    remove_folder(old)


def remove_leftovers(place: Path) -> None:
    """Remove temporary folders that a killed grader left next to the folder `place`.

    The caller must hold the assignment's lock.
    """
    for left in place.parent.glob(f".{glob.escape(place.name)}.*"):
        if left.suffix == ".old" or left.suffix[1:].isdigit():
            remove_folder(left)


def describe_error(error: OSError, where: Path) -> str:
    """Return the file and the cause of an error, such as "/course/x.json: Permission denied".

    If the error does not name a file, the text names `where`.
    """
    return f"{error.filename or where}: {error.strerror or error}"


def remove_folder(folder: Path) -> None:
    """Remove a folder. Files that cannot be removed stay, and no error is raised."""
    shutil.rmtree(folder, ignore_errors=True)
