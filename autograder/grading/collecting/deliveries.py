"""Files of one sender, with notebooks recognised by their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..files.nbgrader_files import SECRET, TIMESTAMP
from ..files.notebook_file import Unreadable, load, parse
from ..gradebook.release import ReleasedNotebooks
from ..submission.unchanged_answers import has_cells_of
from ..tables.roster import Roster, Student, Unplaced
from .archive import Unpacked, UnpackedFile
from .origins import EXCHANGE, Form, Origin
from .safe_paths import SafePaths
from .senders import Senders

_MAY_BE_NOTEBOOKS = (".ipynb", ".json", ".txt", "")  # a browser may have added or dropped a suffix


@dataclass
class Delivery:
    """Files that one sender handed in together.

    `files` maps relative paths, which are safe on any disk, to files. `notebooks` maps assignments to the paths of
    their notebooks. `unread` maps paths to reasons.
    """

    origin: Origin
    senders: list[Student]
    files: dict[str, UnpackedFile] = field(default_factory=dict)
    notebooks: dict[str, list[str]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    paths: SafePaths = field(default_factory=lambda: SafePaths((TIMESTAMP, SECRET)))  # nbgrader believes them

    @property
    def time(self) -> datetime | None:
        """The latest modification time of a file in the archive, in local time, or None."""
        return max((file.time for file in self.files.values() if file.time), default=None)

    def files_for(self, assignment: str) -> dict[str, Path]:
        """Return the files that belong to an assignment: all but the notebooks of other assignments."""
        others = {path for name, paths in self.notebooks.items() if name != assignment for path in paths}
        return {path: file.place for path, file in self.files.items() if path not in others}


@dataclass
class Sorted:
    """The files of one archive, by sender.

    `unplaced` holds the others: the file if it could be read, its path, and the reason. `unknown` are the LMS's numbers
    of those who sent them.
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

    `released` maps assignments to their released notebooks. `identities` maps numbers of an LMS to what its worksheet
    knows of the person, in the order in which it is compared with the roster.
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

    Cells decide, not names. A notebook whose name lacks the suffix `.ipynb` gets it.
    """
    for path, file in list(delivery.files.items()):
        suffix = Path(path).suffix.lower()
        if suffix not in _MAY_BE_NOTEBOOKS:
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
            delivery.unread[path] = "it has none of this course's cells"
            continue
        if suffix != ".ipynb":
            delivery.files.pop(path)
            path = delivery.paths.add(f"{path}.ipynb")
            delivery.files[path] = file
        delivery.notebooks.setdefault(found[0], []).append(path)
