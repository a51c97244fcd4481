"""Times of submission that an instructor supplies, in the file `times.csv`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ...errors import UserError
from .csv_text import from_text, read_csv

TIMES_FILE = "times.csv"
_COLUMNS = ("id", "assignment", "time")
_EXAMPLE = "petrova,03_gradient_accumulation,2026-10-01 23:59"  # a right line


def supplied_times(root: Path, zone: ZoneInfo) -> dict[tuple[str, str], datetime]:
    """Return a dict from student and assignment to the time in `times.csv` of the course in the folder `root`.

    A time without a time zone is in `zone`. Without a file the dict is empty.
    Raises UserError if the file lacks a column, or has a cell that is no time.
    """
    path = root / TIMES_FILE
    if not path.exists():
        return {}
    text = read_csv(path)
    heads = [text.cell(0, at).strip().casefold() for at in range(len(text.rows[0]))] if text.rows else []
    if missing := [name for name in _COLUMNS if name not in heads]:
        raise UserError(f"{path} has no column {missing[0]}: its first line must be {','.join(_COLUMNS)}", _EXAMPLE)
    found = {}
    for row in range(1, len(text.rows)):
        student, assignment, said = (from_text(text.cell(row, heads.index(name)).strip()) for name in _COLUMNS)
        if not (student or assignment or said):
            continue
        try:
            time = datetime.fromisoformat(said)
        except ValueError as error:
            raise UserError(f"{path}, line {row + 1}: {said!r} is no time", _EXAMPLE) from error
        found[student, assignment] = time if time.tzinfo else time.replace(tzinfo=zone)
    return found


def late_without_time(title: str, student: str, assignment: str) -> str:
    """Return the sentence on late work whose time the LMS called `title` does not tell, with the remedy."""
    return f"late in {title}, which tells no time: that of the download counts until you {supply(student, assignment)}"


def supply(student: str, assignment: str) -> str:
    """Return the words that tell how to supply a time of submission."""
    return (
        f"write the line {student},{assignment},YYYY-MM-DD HH:MM into {TIMES_FILE} of the course folder, below a first "
        f"line {','.join(_COLUMNS)}, and collect again"
    )
