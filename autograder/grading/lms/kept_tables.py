"""Tables of grades that were collected, kept for `autograder return`."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from pathlib import Path

from ..lms.interface.grade_table import GradeTable
from ..lms.systems import read_grade_table

KEPT = "worksheets"  # a folder of the course


def keep_table(root: Path, assignment: str, table: GradeTable, senders: AbstractSet[str]) -> None:
    """Copy a table into the folder `worksheets/` of the course in the folder `root`.

    It replaces an earlier table of the same people. Tables of other groups stay beside it. If the same people have
    other numbers in an earlier table, one of the two belongs to another assignment: it is the one with fewer of
    `senders`, the numbers of those who handed in this one.
    """
    kept = kept_tables(root, assignment)
    for path in kept:
        earlier = read_grade_table(path)
        if _renumbers(table, earlier):
            if _among(senders, table) <= _among(senders, earlier):
                return
            path.unlink()
    kept = kept_tables(root, assignment)
    numbers = {each.number for each in table.participants}
    same = [path for path in kept if _are_mostly(numbers, read_grade_table(path))]
    free = (path for path in (_path(root, assignment, at) for at in range(1, len(kept) + 2)) if path not in kept)
    place = same[0] if same else next(free)
    place.parent.mkdir(exist_ok=True)
    for path in same[1:]:
        path.unlink()
    place.write_bytes(table.to_bytes())


def kept_tables(root: Path, assignment: str) -> list[Path]:
    """Return the paths of the tables that a course keeps of an assignment."""
    form = re.compile(rf"{re.escape(assignment)}(?:\+(\d+))?\.csv")
    found = {path: form.fullmatch(path.name) for path in (root / KEPT).glob("*.csv")}
    return sorted((path for path, fits in found.items() if fits), key=lambda path: int((found[path] or [0, 0])[1] or 1))


def _among(senders: AbstractSet[str], table: GradeTable) -> int:
    return len(senders & {each.number for each in table.participants})


def _renumbers(table: GradeTable, earlier: GradeTable) -> bool:
    """Return whether most people of two tables have other numbers in the one than in the other."""
    numbers = {identity: each.number for each in earlier.participants for identity in each.identities}
    pairs = {
        (each.number, numbers[identity])
        for each in table.participants
        for identity in each.identities
        if identity in numbers
    }
    return 2 * sum(now != before for now, before in pairs) > len(pairs)


def _are_mostly(numbers: set[str], table: GradeTable) -> bool:
    """Return whether most participants of an earlier table have one of `numbers`."""
    earlier = {each.number for each in table.participants}
    return 2 * len(earlier & numbers) >= len(earlier)


def _path(root: Path, assignment: str, number: int) -> Path:
    return root / KEPT / f"{assignment}{f'+{number}' if number > 1 else ''}.csv"
