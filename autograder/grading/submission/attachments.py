"""The files in a submission's folder except the notebooks, read within limits."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..course.folders import RECORD
from .sanitize import Unreadable, load

MOST_FILES, LARGEST = 200, 20 << 20  # files other than notebooks, and their total bytes
_MOST_ENTRIES = 5_000  # files that are examined
_NAMED = 5  # ignored files that are listed by name
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # written by nbgrader, and read before all others


@dataclass
class Extras:
    """The files below a submission's folder, by relative path.

    `notebooks` are only listed. `files` holds the contents of the other files.
    """

    notebooks: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)  # the cause by relative path

    @property
    def own(self) -> dict[str, bytes]:
        """The files that the student has made, without those that nbgrader has added."""
        return {path: data for path, data in self.files.items() if path not in (TIMESTAMP, SECRET)}

    @property
    def notes(self) -> list[str]:
        """A sentence for each of the first ignored files, and one with the number of the rest."""
        named = [f"ignored: {printable(path)} ({why})" for path, why in list(self.ignored.items())[:_NAMED]]
        more = len(self.ignored) - _NAMED
        return [*named, f"ignored: {more} more files"] if more > 0 else named


def find_extras(folder: Path, ignore: Sequence[str]) -> Extras:
    """List the notebooks below a submission's folder, and read all other files.

    File names that match nbgrader's `ignore` patterns are left out. Links and pipes are never opened.
    Raises OSError if the folder itself cannot be listed.
    """
    found, total = Extras(), 0
    regular: list[str] = []
    for number, (path, why) in enumerate(_entries(folder, ignore)):
        if number >= _MOST_ENTRIES:
            found.ignored["…"] = f"only {_MOST_ENTRIES} files are looked at"
            break
        if path.lower().endswith(".ipynb"):
            found.notebooks.append(path)
        elif why:
            found.ignored[path] = why
        else:
            regular.append(path)
    for path in sorted(regular, key=lambda path: (path not in (TIMESTAMP, SECRET), path)):
        if len(found.files) >= MOST_FILES:
            found.ignored[path] = f"more than {MOST_FILES} files"
            continue
        try:
            if (folder / path).lstat().st_size > LARGEST - total:
                found.ignored[path] = f"more than {LARGEST >> 20} MB together"
                continue
            data = load(folder / path, LARGEST - total)
        except (Unreadable, OSError) as error:
            found.ignored[path] = str(error)
        else:
            found.files[path] = data
            total += len(data)
    return found


def printable(path: str) -> str:
    """Return a file name as text that can be written to any file."""
    return path.encode("utf-8", "backslashreplace").decode()


def _entries(folder: Path, ignore: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the relative path of each file, and why it must not be opened, or an empty text."""
    left = [""]
    while left:
        prefix = left.pop()
        try:
            with os.scandir(folder / prefix) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise
            yield prefix, f"cannot be listed: {error.strerror}"
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if path == RECORD or any(fnmatch.fnmatch(entry.name, pattern) for pattern in ignore):
                continue
            if entry.is_dir(follow_symlinks=False):
                left.append(f"{path}/")
            elif entry.is_symlink():
                yield path, "it is a link"
            else:
                yield path, "" if entry.is_file(follow_symlinks=False) else "it is no regular file"


def refuse_linked_notebook(submitted: Path, name: str) -> None:
    """Raise Unreadable if the notebook `name`, its folder or the student's folder is a link.

    The target of a link may belong to anybody. `submitted` is the folder of the submission.
    """
    for path in (submitted / f"{name}.ipynb", submitted, submitted.parent):
        if path.is_symlink():
            raise Unreadable(f"{name}.ipynb cannot be opened: {path} is a link")


def remove_copies(submitted: Path, copied: Path, source: Path) -> list[str]:
    """Remove the files in the folder `copied` that are links in the folder `submitted`.

    nbgrader has copied the targets of the links. Files of the assignment itself, from the folder `source`, are kept.
    Returns the relative paths of the removed files.
    """
    removed = []
    for path in sorted(copied.rglob("*")):
        inside = path.relative_to(copied)
        if (submitted / inside).is_symlink() and not (source / inside).exists():
            path.unlink()
            removed.append(inside.as_posix())
    return removed
