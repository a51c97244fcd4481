"""Tables of grades that were collected, kept for `autograder return`."""

from __future__ import annotations

import re
from pathlib import Path

from ..lms.interface.grade_table import GradeTable
from ..lms.systems import read_grade_table


def keep_table(root: Path, assignment: str, table: GradeTable) -> None:
    """Copy a table into the folder `worksheets/` of the course in the folder `root`.

    It replaces an earlier table of the same people. Tables of other groups stay beside it.
    """
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
    found = {path: form.fullmatch(path.name) for path in (root / "worksheets").glob("*.csv")}
    return sorted((path for path, fits in found.items() if fits), key=lambda path: int((found[path] or [0, 0])[1] or 1))


def _are_mostly(numbers: set[str], table: GradeTable) -> bool:
    """Return whether most participants of an earlier table have one of `numbers`."""
    earlier = {each.number for each in table.participants}
    return 2 * len(earlier & numbers) >= len(earlier)


def _path(root: Path, assignment: str, number: int) -> Path:
    return root / "worksheets" / f"{assignment}{f'+{number}' if number > 1 else ''}.csv"
