"""Folders that are watched for submissions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nbgrader.exchange.default import Exchange

from ...errors import UserError
from ...language import LANGUAGES
from ..course.settings import CourseSettings

_Signature = tuple[tuple[str, int, int], ...]


class Inbox:
    """A folder into which submissions are put.

    An entry is a file or a subfolder. It has arrived when it is the same at two looks in a row: probably nobody is
    writing it any more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._looked: dict[str, _Signature] = {}
        self._taken: dict[str, _Signature] = {}

    def arrived(self) -> list[str]:
        """Return the names of the entries that have arrived or changed since they were last taken.

        Raises OSError if the folder cannot be listed.
        """
        before, self._looked = self._looked, {name: _signature(path) for name, path in _entries(self.folder)}
        return [
            name
            for name, signature in self._looked.items()
            if signature and signature == before.get(name) and signature != self._taken.get(name)
        ]

    def take(self, names: list[str]) -> None:
        """Mark entries as taken, as they were at the last look."""
        self._taken |= {name: self._looked[name] for name in names}


def inboxes(course: CourseSettings, folders: list[Path]) -> list[Inbox]:
    """Return the watched folders: `folders`, or those of nbgrader's exchange if `folders` is empty.

    Raises UserError if a folder does not exist, or if nothing was released to the exchange.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is no folder: make it, or name another one")
    if folders:
        return [Inbox(folder.resolve()) for folder in folders]
    root = Path(Exchange(config=course.config).root)
    found = [root / course.course_id_in(language) / "inbound" for language in LANGUAGES]
    there = [folder for folder in found if folder.is_dir()]
    if not there:
        raise UserError(
            f"nbgrader's exchange has no folder for this course, neither {' nor '.join(map(str, found))}: run "
            "`autograder release DIR --exchange` first, or name folders: `autograder watch DIR FOLDER`"
        )
    return [Inbox(folder) for folder in there]


def _entries(folder: Path) -> Iterator[tuple[str, Path]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.name.startswith(".") and not entry.is_symlink():
            yield entry.name, Path(entry.path)


def _signature(path: Path) -> _Signature:
    """Return paths, modification times in nanoseconds and sizes of the files in an entry."""
    if not path.is_dir():
        return _stat(path)
    return tuple(
        part
        for above, _, names in os.walk(path)
        for name in sorted(names)
        for part in _stat(Path(above, name))
    )  # fmt: skip


def _stat(path: Path) -> _Signature:
    try:
        found = path.lstat()
    except OSError:  # removed meanwhile
        return ()
    return ((str(path), found.st_mtime_ns, found.st_size),)
