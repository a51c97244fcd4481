"""Submissions as data: folders packed for another machine."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ..files.notebook_file import LARGEST_NOTEBOOK, Unreadable, load_file
from ..submission.attachments import LARGEST_TOGETHER

_MOST_ENTRIES = 6_000  # more than grading looks at


@dataclass(frozen=True)
class Entry:
    """A file of a submission.

    `path` is relative. `kind` is "file", "large", "link" or "other". `data` holds the contents of a file. `size` is in
    bytes, `modified` in nanoseconds.
    """

    path: str
    kind: str
    data: bytes
    size: int
    modified: int


@dataclass(frozen=True)
class PackedSubmission:
    """All files of a submission, as grading finds them.

    Links and pipes are packed as what they are, without a target: grading names them and opens none.
    """

    student: str
    assignment: str
    entries: tuple[Entry, ...]


def pack(folder: Path) -> PackedSubmission:
    """Return the submission in `folder` as data. Raises OSError if the folder cannot be listed."""
    entries: list[Entry] = []
    for above, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        links = [name for name in folders if Path(above, name).is_symlink()]
        for name in sorted([*names, *links]):
            if len(entries) < _MOST_ENTRIES:
                entries.append(_entry(Path(above, name), folder))
    return PackedSubmission(folder.parent.name, folder.name, tuple(entries))


def unpack_submission(packed: PackedSubmission, into: Path) -> Path:
    """Write a packed submission below the folder `into`. Returns the folder of the submission."""
    folder = into / packed.student / packed.assignment
    folder.mkdir(parents=True)
    for entry in packed.entries:
        path = folder / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == "link":
            path.symlink_to("nowhere")
        elif entry.kind == "other":
            os.mkfifo(path)
        else:
            path.write_bytes(entry.data)
            if entry.kind == "large":
                os.truncate(path, entry.size)  # takes no space: grading refuses it by its size
            os.utime(path, ns=(entry.modified, entry.modified))
    return folder


def _entry(path: Path, folder: Path) -> Entry:
    found = path.lstat()
    inside, about = path.relative_to(folder).as_posix(), (found.st_size, found.st_mtime_ns)
    if stat.S_ISLNK(found.st_mode):
        return Entry(inside, "link", b"", *about)
    if not stat.S_ISREG(found.st_mode):
        return Entry(inside, "other", b"", *about)
    try:
        largest = LARGEST_NOTEBOOK if path.suffix.lower() == ".ipynb" else LARGEST_TOGETHER
        return Entry(inside, "file", load_file(path, largest), *about)
    except Unreadable:
        return Entry(inside, "large", b"", *about)


def _raise(error: OSError) -> None:
    raise error
