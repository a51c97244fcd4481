"""Folders and files with names of students, in archives of no LMS."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from ..lms.systems import common_folders
from ..tables.roster import Ambiguous, Roster, Student, Unplaced


def depth_of_names(entries: Collection[str], roster: Roster) -> int:
    """Return the number of folders around the files and folders that are named after students.

    It is the first depth at which at least half of the names are those of students. If there is none, it is the depth
    with the largest share of such names. All entries have the same depth, so that a student's own folders cannot change
    it.
    """
    named: dict[int, float] = {}
    for depth in range(common_folders(entries) + 2):
        known = {name_at(entry, depth) for entry in entries}
        named[depth] = sum(_names_somebody(name, roster) for name in known) / max(len(known), 1)
        if named[depth] >= 0.5:
            return depth
    return max(named, key=lambda depth: named[depth])


def name_at(entry: str, depth: int) -> str:
    """Return the file or folder name at `depth` in the path `entry`: "bob" for "all/bob/x.ipynb" and 1.

    Returns the file's name if the path is shorter.
    """
    parts = entry.split("/")
    return parts[min(depth, len(parts) - 1)]


def team_called(name: str, roster: Roster) -> list[Student]:
    """Return the members of the team after which a file or folder is named, unless that is a student's id or name."""
    names = (name, PurePosixPath(name).stem)
    if any(each.casefold() in roster.by_number or roster.called(each) for each in names):
        return []
    return next(filter(None, map(roster.group, names)), [])


def _names_somebody(name: str, roster: Roster) -> bool:
    if team_called(name, roster):
        return True
    try:
        roster.find_in_path(name)
    except Ambiguous:
        return True
    except Unplaced:
        return False
    return True
