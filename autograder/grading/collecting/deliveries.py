"""Files of one sender, with notebooks recognised by their cells."""

from __future__ import annotations

import unicodedata
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
from .origins import EXCHANGE, Form, Origin, recognise

_MAY_BE_NOTEBOOKS = (".ipynb", ".json", ".txt", "")  # a browser may have added or dropped a suffix
_LONGEST = 240  # bytes of a file name


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

    `unplaced` holds the others: the file if it could be read, its path, and the reason.
    """

    form: Form | None
    deliveries: list[Delivery]
    unplaced: list[tuple[UnpackedFile | None, str, str]]


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
    form = recognise([file.path for file in unpacked.files] or list(unpacked.unread))
    done = Sorted(form, [], [])
    by_attempt: dict[tuple[str, ...], Delivery] = {}
    for file, path, reason in [
        *((file, file.path, "") for file in unpacked.files),
        *((None, path, reason) for path, reason in unpacked.unread.items()),
    ]:
        origin = (form.read(path) if form else None) or Origin("", (), "", path)
        try:
            senders = find_senders(origin, path, roster, identities)
        except Unplaced as why:
            done.unplaced.append((file, path, str(why)))
            continue
        key = (*(student.id for student in senders), origin.attempt)
        delivery = by_attempt.setdefault(key, Delivery(origin, senders))
        if file is None:
            delivery.unread[path] = reason
        elif origin.rest == SECRET and form is EXCHANGE:
            delivery.files[SECRET] = file
        elif Path(origin.rest).name not in (TIMESTAMP, SECRET):  # nbgrader believes them
            delivery.files[_safe_path(origin.rest, delivery.files)] = file
    done.deliveries = list(by_attempt.values())
    for delivery in done.deliveries:
        _recognise_notebooks(delivery, released)
    return done


def find_senders(origin: Origin, path: str, roster: Roster, identities: Mapping[str, Sequence[str]]) -> list[Student]:
    """Return the student who handed in a file, or all students of the group that did.

    Raises Unplaced if the roster has nobody who fits.
    """
    if not origin.numbers and not origin.name:
        return [roster.find_in_path(path)]
    known = [text for number in origin.numbers for text in identities.get(number, ())]
    if origin.hidden and not any(known):  # a worksheet may hide names as well
        number = origin.numbers[0]
        return [Student(f"participant-{number}", "", lms=(number,))]
    try:
        *numbers, name = known or ["", ""]
        return [roster.find([*filter(None, numbers), *origin.numbers], name or roster.without_group(origin.name))]
    except Unplaced:
        group = roster.group(origin.name) if origin.name else []
        if not group:
            raise
        return group


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
            path = _safe_path(f"{path}.ipynb", delivery.files)
            delivery.files[path] = file
        delivery.notebooks.setdefault(found[0], []).append(path)


def _safe_path(path: str, taken: Mapping[str, object]) -> str:
    """Return a relative path that every disk can hold and that is not in `taken`.

    Names that are too long are cut, hidden names and control characters are changed.
    """
    pieces = []
    for piece in path.split("/"):
        clean = "".join(c if c.isprintable() else "_" for c in piece).strip()
        clean = f"_{clean}" if clean.startswith((".", "~")) or not clean else clean
        stem, dot, suffix = clean.rpartition(".") if "." in clean else (clean, "", "")
        while len(f"{stem}{dot}{suffix}".encode()) > _LONGEST:
            stem, suffix = stem[:-1], suffix[:20]
        pieces.append(f"{stem}{dot}{suffix}")
    safe = unicodedata.normalize("NFC", "/".join(pieces))
    number = 1
    while safe in taken or any(other.startswith(f"{safe}/") or safe.startswith(f"{other}/") for other in taken):
        number += 1
        stem, dot, suffix = pieces[-1].rpartition(".")
        safe = "/".join([*pieces[:-1], f"{stem or suffix} ({number}){dot}{suffix if stem else ''}"])
    return safe
