"""Files of an archive, grouped by sender and attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ...language import Note
from ...messages.reasons import describe_reason
from ..files.file_kinds import kind_of, may_be_notebook
from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..files.notebook_file import Unreadable, load, parse
from ..gradebook.release import ReleasedNotebooks
from ..submission.unchanged_answers import has_cells_of, other_assignment
from ..tables.roster import Roster, Student, Unplaced
from .archive import Unpacked, UnpackedFile
from .origins import EXCHANGE, Form, Origin
from .safe_paths import SafePaths
from .senders import Senders


@dataclass
class Delivery:
    """Files that one sender handed in together.

    `origin` is what their paths tell, `senders` are the student or the members of the team. `files` maps relative
    paths, which are safe on any disk, to files. `notebooks` maps assignments to the paths of their notebooks. `unread`
    maps paths of files that cannot be read or recognised to the reason.
    """

    origin: Origin
    senders: list[Student]
    files: dict[str, UnpackedFile] = field(default_factory=dict)
    notebooks: dict[str, list[str]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    paths: SafePaths = field(default_factory=lambda: SafePaths((TIMESTAMP, SECRET)))  # nbgrader trusts them

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

    `form` is the LMS's form of paths, or None. `unplaced` holds files without a known sender: the file, or None if it
    cannot be read; its path; the reason. `unknown` are the LMS's numbers in the paths of these files.
    """

    form: Form | None
    deliveries: list[Delivery]
    unplaced: list[tuple[UnpackedFile | None, str, str]]
    unknown: set[str] = field(default_factory=set)


def sort_files(
    unpacked: Unpacked,
    roster: Roster,
    released: Mapping[str, ReleasedNotebooks],
    identities: Mapping[str, Sequence[str]],
) -> Sorted:
    """Group the files of an archive by sender and attempt, and recognise their notebooks.

    `released` maps assignments to their released notebooks. `identities` maps an LMS's number to the person's ID
    number, e-mail address and name in the worksheet.
    """
    senders_of = Senders(unpacked, roster, identities)
    done = Sorted(senders_of.form, [], [])
    by_attempt: dict[tuple[str, ...], Delivery] = {}
    for file, path, reason in [
        *((file, file.path, "") for file in unpacked.files),
        *((None, path, reason) for path, reason in unpacked.unread.items()),
    ]:
        origin = senders_of.origin(path)
        try:
            origin, senders = senders_of.find(origin, path)
        except Unplaced as why:
            done.unplaced.append((file, path, str(why)))
            done.unknown.update(origin.numbers)
            continue
        key = (*(student.id for student in senders), origin.attempt)
        delivery = by_attempt.setdefault(key, Delivery(origin, senders))
        if file is None:
            delivery.unread[path] = reason
        elif origin.rest == SECRET and done.form is EXCHANGE:
            delivery.files[SECRET] = file
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
            raw = parse(load(file.place), Path(path).name)
        except Unreadable as error:
            if suffix == ".ipynb":
                delivery.unread[path] = str(error)
            continue
        found = [
            assignment
            for assignment, notebooks in released.items()
            if any(has_cells_of(raw, notebook.cells) for notebook in notebooks.values())
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
    named = other_assignment(raw, "", {})
    if named is None:
        return "it has none of this course's cells"
    if named in released:
        return f"it is the notebook of {named}, but most of its cells are missing: ask the student for the whole one"
    return f"it is the notebook of {named}, which is not in this course"


def _kind_of(path: Path, name: str) -> Note | None:
    try:
        return kind_of(load(path), name)
    except Unreadable:
        return None
