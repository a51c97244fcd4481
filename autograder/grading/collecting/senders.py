"""Senders of files, by names that an LMS or instructor gave.

A student names what lies inside their own folder or archive. None of that tells who the sender is, or when.
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

    `identities` maps numbers of an LMS to what its worksheet knows of the person, in the order in which it is compared
    with the roster.
    """

    def __init__(self, unpacked: Unpacked, roster: Roster, identities: Mapping[str, Sequence[str]]) -> None:
        self._unpacked, self._roster, self._identities = unpacked, roster, identities
        self._reading = recognise(unpacked.entries)
        self._depth = self._reading.depth if self._reading else _depth_of_names(unpacked.entries, roster)

    @property
    def form(self) -> Form | None:
        """The form of the archive, or None if it is of no LMS."""
        return self._reading.form if self._reading else None

    def origin(self, path: str) -> Origin:
        """Return the origin of a file, as far as its entry tells."""
        entry = self._unpacked.entry_of(path)
        origin = self._reading.origin(entry) if self._reading else None
        return replace(origin, rest=origin.rest + path.removeprefix(entry)) if origin else Origin("", (), "", path)

    def find(self, origin: Origin, path: str) -> tuple[Origin, list[Student]]:
        """Return the origin with a time that can be believed, and the student or the group that handed in a file.

        Raises Unplaced if the roster has nobody who fits, or if the file belongs to somebody else.
        """
        entry = self._unpacked.entry_of(path)
        if not origin.numbers and not origin.name:
            return origin, [self._find_in_name(entry)]
        if self.form is EXCHANGE and self._unpacked.folder:
            origin = self._vouched(origin, self._unpacked.folder / entry)
        return origin, self._find_by_number(origin)

    def _find_in_name(self, entry: str) -> Student:
        try:
            return self._roster.find_in_path(_named(entry, self._depth))
        except Unplaced:
            inside = {path.removeprefix(f"{entry}/") for path in self._unpacked.paths if path.startswith(f"{entry}/")}
            if inside and (reading := recognise(inside)):
                raise Unplaced(f"{entry} is an archive of {reading.form.title}: collect it by itself") from None
            raise

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
        """Return an origin in nbgrader's exchange with a time that the server vouches for.

        The name of a folder in the exchange is the student's own. Its owner is not, nor is the time of its last change
        by the server's clock.
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
    """Return the number of folders above those that name students.

    At this depth half of the names, or else most, are those of students. It is the same for all entries, and folders
    that do not lie around all entries count once: so a student's own folders cannot change it.
    """
    named: dict[int, float] = {}
    for depth in range(common_folders(entries) + 2):
        names = {_named(entry, depth) for entry in entries}
        named[depth] = sum(_names_somebody(name, roster) for name in names) / max(len(names), 1)
        if named[depth] >= 0.5:
            return depth
    return max(named, key=lambda depth: named[depth])


def _named(entry: str, depth: int) -> str:
    """Return the name of the folder or file in the path `entry` at a depth, or of the file if it lies above."""
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
