"""Files of an archive, grouped by sender and attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ...language import Note
from ...messages.reasons import describe_reason
from ..files.file_kinds import kind_of, may_be_notebook
from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..files.notebook_file import Unreadable, load_file, parse_notebook
from ..gradebook.released_notebooks import ReleasedNotebooks
from ..lms.interface.origin import Origin
from ..lms.interface.system import Lms
from ..submission.submitted_notebook import SubmittedNotebook, stated_assignment
from ..tables.roster import Student, Unplaced
from .archive import Unpacked, UnpackedFile
from .safe_paths import SafePaths
from .senders import Found, Senders


@dataclass
class Delivery:
    """Files that one sender handed in together.

    `found` tells whose they are. `files` maps relative paths, which are safe on any disk, to files. `notebooks` maps
    assignments to the paths of their notebooks. `unread` maps paths of files that cannot be read or recognised to the
    reason.
    """

    found: Found
    files: dict[str, UnpackedFile] = field(default_factory=dict)
    notebooks: dict[str, list[str]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    paths: SafePaths = field(default_factory=lambda: SafePaths((TIMESTAMP, SECRET)))  # nbgrader trusts them

    @property
    def origin(self) -> Origin:
        """The sender by the paths."""
        return self.found.origin

    @property
    def senders(self) -> list[Student]:
        """The student, or the members of the team."""
        return self.found.students

    @property
    def time(self) -> datetime | None:
        """The latest modification time of a file in the archive, or None. Without a time zone it is in local time."""
        times = (file.time for file in self.files.values() if file.time)
        return max(times, key=lambda time: time.replace(tzinfo=None), default=None)

    def files_for(self, assignment: str) -> dict[str, Path]:
        """Return the files that belong to an assignment: all but the notebooks of other assignments."""
        others = {path for name, paths in self.notebooks.items() if name != assignment for path in paths}
        return {path: file.place for path, file in self.files.items() if path not in others}


@dataclass
class Sorted:
    """The files of one archive, grouped by sender and attempt.

    `lms` is the LMS, or None. `unplaced` holds files without a known sender: the file, or None if it cannot be read;
    its path; the reason. `unknown` are the LMS's numbers in the paths of these files.
    """

    lms: Lms | None
    deliveries: list[Delivery]
    unplaced: list[tuple[UnpackedFile | None, str, str]]
    unknown: set[str] = field(default_factory=set)


def sort_files(unpacked: Unpacked, senders_of: Senders, released: Mapping[str, ReleasedNotebooks]) -> Sorted:
    """Group the files of an archive by sender and attempt, and recognise their notebooks.

    `released` maps assignments to their released notebooks.
    """
    done = Sorted(senders_of.lms, [], [])
    trusted = done.lms.trusted if done.lms else frozenset()
    by_attempt: dict[tuple[str, ...], Delivery] = {}
    for file, path, reason in [
        *((file, file.path, "") for file in unpacked.files),
        *((None, path, reason) for path, reason in unpacked.unread.items()),
    ]:
        if senders_of.is_of_lms(path):
            continue
        origin = senders_of.origin(path)
        try:
            found = senders_of.find(origin, path)
        except Unplaced as why:
            done.unplaced.append((file, path, str(why)))
            if senders_of.has_person(origin):
                done.unknown.update(origin.numbers)
            continue
        done.unplaced += [(file, path, why) for why in found.lost]
        key = (*(student.id for student in found.students), origin.attempt)
        delivery = by_attempt.setdefault(key, Delivery(found))
        if file is None:
            delivery.unread[path] = reason
        elif origin.rest in trusted:
            delivery.files[origin.rest] = file
        elif origin.rest not in (TIMESTAMP, SECRET):
            delivery.files[delivery.paths.add(origin.rest)] = file
    done.deliveries = list(by_attempt.values())
    for delivery in done.deliveries:
        _recognise_notebooks(delivery, released)
    return done


def _recognise_notebooks(delivery: Delivery, released: Mapping[str, ReleasedNotebooks]) -> None:
    """Find the notebooks of a delivery, and add them to `delivery.notebooks` by assignment.

    A notebook is recognised by its cells, not by its name. If the name lacks the suffix `.ipynb`, the suffix is added.
    In a delivery without a notebook, files of other kinds are unread.
    """
    for path, file in list(delivery.files.items()):
        suffix = Path(path).suffix.lower()
        if not may_be_notebook(path):
            continue
        try:
            raw = parse_notebook(load_file(file.place), Path(path).name)
        except Unreadable as error:
            if suffix == ".ipynb":
                delivery.unread[path] = str(error)
            continue
        found = [
            assignment
            for assignment, notebooks in released.items()
            if any(SubmittedNotebook(raw, each).is_of_release for each in notebooks.values())
        ]
        if not found:
            delivery.unread[path] = _describe_stranger(raw, released)
            continue
        if suffix != ".ipynb":
            delivery.files.pop(path)
            path = delivery.paths.add(f"{path}.ipynb")
            delivery.files[path] = file
        delivery.notebooks.setdefault(found[0], []).append(path)
    if not delivery.notebooks:
        for path, file in delivery.files.items():
            if path not in delivery.unread and (kind := _kind_of(file.place, Path(path).name)):
                delivery.unread[path] = describe_reason(kind).en


def _describe_stranger(raw: Mapping[str, Any], released: Mapping[str, ReleasedNotebooks]) -> str:
    """Return why a notebook without enough cells of the course's assignments cannot be graded."""
    named = stated_assignment(raw)
    if named is None:
        return "it has none of this course's cells"
    if named in released:
        return f"it is the notebook of {named}, but most of its cells are missing: ask the student for the whole one"
    return f"it is the notebook of {named}, which is not in this course"


def _kind_of(path: Path, name: str) -> Note | None:
    try:
        return kind_of(load_file(path), name)
    except Unreadable:
        return None
