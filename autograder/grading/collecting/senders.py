"""Senders of files, by names that an LMS or instructor gave.

Students choose the names inside their own folder or archive. Such names are not used to tell sender or time.
"""

from __future__ import annotations

import pwd
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..tables.roster import Ambiguous, Roster, Student, Unplaced
from .archive import Unpacked
from .origins import EXCHANGE, Form, Origin, common_folders, recognise

_CLOCKS = timedelta(minutes=5)  # a submission is copied, and the clock of another machine may be wrong


class Senders:
    """The senders of the files of one archive or folder.

    `identities` maps an LMS's number to the person's ID number, e-mail address and name in the worksheet.
    """

    def __init__(self, unpacked: Unpacked, roster: Roster, identities: Mapping[str, Sequence[str]]) -> None:
        self._unpacked, self._roster, self._identities = unpacked, roster, identities
        entries = unpacked.entries
        self._reading = recognise(entries)
        self._depth = self._reading.depth if self._reading else _depth_of_names(entries, roster)
        self._refused: dict[str, Unplaced] = {}  # by entry: many files may lie in one archive that names nobody

    @property
    def form(self) -> Form | None:
        """The LMS's form of the archive's paths, or None if it has no known form."""
        return self._reading.form if self._reading else None

    def origin(self, path: str) -> Origin:
        """Return who handed in the file at `path`, as far as the part of the path that the LMS made tells.

        If this part has no form of an LMS, the result has neither a name nor a number.
        """
        entry = self._unpacked.entry_of(path)
        origin = self._reading.origin(entry) if self._reading else None
        return replace(origin, rest=origin.rest + path.removeprefix(entry)) if origin else Origin("", (), "", path)

    def find(self, origin: Origin, path: str) -> tuple[Origin, list[Student]]:
        """Return the student, or all members of the group, who handed in the file at `path`.

        `origin` is what the path tells. It is returned as well, in nbgrader's exchange with a time that the student
        cannot have forged.
        Raises Unplaced if the roster has nobody who fits, or if the file belongs to somebody else.
        """
        entry = self._unpacked.entry_of(path)
        if not origin.numbers and not origin.name:
            return origin, [self._find_in_name(entry)]
        if self.form is EXCHANGE and self._unpacked.folder:
            origin = self._vouched(origin, self._unpacked.folder / entry)
        return origin, self._find_by_number(origin)

    def _find_in_name(self, entry: str) -> Student:
        if entry in self._refused:
            raise self._refused[entry]
        try:
            return self._roster.find_in_path(_named(entry, self._depth))
        except Unplaced as why:
            self._refused[entry] = self._explained(entry) or why
            raise self._refused[entry] from None

    def _explained(self, entry: str) -> Unplaced | None:
        """Return an error with the remedy if `entry` is an archive of an LMS, which lies in the folder to collect."""
        if entry not in self._unpacked.archives:
            return None
        inside = {path.removeprefix(f"{entry}/") for path in self._unpacked.paths if path.startswith(f"{entry}/")}
        reading = recognise(inside) if inside else None
        return Unplaced(f"{entry} is an archive of {reading.form.title}: collect it by itself") if reading else None

    def _find_by_number(self, origin: Origin) -> list[Student]:
        known = [text for number in origin.numbers for text in self._identities.get(number, ())]
        if origin.hidden and not any(known):  # a worksheet may hide names as well
            number = origin.numbers[0]
            return [Student(f"participant-{number}", "", lms=(number,))]
        try:
            *numbers, name = known or ["", ""]
            name = name or self._roster.without_group(origin.name)
            return [self._roster.find([*filter(None, numbers), *origin.numbers], name)]
        except Unplaced:
            group = self._roster.group(origin.name) if origin.name else []
            if not group:
                raise
            return group

    def _vouched(self, origin: Origin, file: Path) -> Origin:
        """Return an origin in nbgrader's exchange with a time that the student cannot have forged.

        Students can choose the name of their folder in the exchange, with the time in it. They cannot choose the
        folder's owner and the time of its last change by the server's clock.
        Raises Unplaced if the folder belongs to another student.
        """
        folder = next(above for above in file.parents if "+" in above.name)
        try:
            found = folder.stat()
            owner = pwd.getpwuid(found.st_uid).pw_name
        except (OSError, KeyError):
            return origin
        (user,) = origin.numbers
        if owner != user and owner.casefold() in self._roster.by_number:
            raise Unplaced(f"the folder has the name of {user}, but belongs to {owner}: ask both")
        changed = datetime.fromtimestamp(found.st_ctime, UTC)
        if owner == user and origin.time and changed - origin.time > _CLOCKS:
            return replace(origin, time=changed, time_from="server's clock")
        return origin


def _depth_of_names(entries: Collection[str], roster: Roster) -> int:
    """Return the number of folders around the files and folders that are named after students.

    It is the first depth at which at least half of the names are those of students. If there is none, it is the depth
    with the largest share of such names. All entries have the same depth, so that a student's own folders cannot change
    it.
    """
    named: dict[int, float] = {}
    for depth in range(common_folders(entries) + 2):
        names = {_named(entry, depth) for entry in entries}
        named[depth] = sum(_names_somebody(name, roster) for name in names) / max(len(names), 1)
        if named[depth] >= 0.5:
            return depth
    return max(named, key=lambda depth: named[depth])


def _named(entry: str, depth: int) -> str:
    """Return the file or folder name at `depth` in the path `entry`: "bob" for "all/bob/x.ipynb" and 1.

    Returns the file's name if the path is shorter.
    """
    parts = entry.split("/")
    return parts[min(depth, len(parts) - 1)]


def _names_somebody(name: str, roster: Roster) -> bool:
    try:
        roster.find_in_path(name)
    except Ambiguous:
        return True
    except Unplaced:
        return False
    return True
