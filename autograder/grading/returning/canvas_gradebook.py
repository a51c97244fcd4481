"""Canvas' gradebook as a CSV file.

Source: Canvas' `lib/gradebook_exporter.rb` and `lib/gradebook_importer.rb`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ...errors import UserError
from ..tables import names
from ..tables.csv_text import CsvText
from ..tables.roster import Student

_POINTS_POSSIBLE = "points possible"


def fill_in(
    text: CsvText, assignment: str, points: Mapping[Student, float], maximum: float, everybody: Iterable[Student]
) -> dict[str, str]:
    """Write points into the column of an assignment.

    Returns a dict from each student who has no line to the reason. The column is the one whose title has the
    assignment's name, or the number in front of it. Points are scaled to Canvas' points possible. Students are found by
    Canvas' id, SIS id, login, or a name that only one of `everybody` in the course has.
    Raises UserError if the file is no gradebook, or no column or more than one fits.
    """
    heads = [text.cell(0, at).strip() for at in range(len(text.rows[0]))] if text.rows else []
    if "ID" not in heads or "Section" not in heads:
        raise UserError("this is no gradebook of Canvas: it has no columns ID and Section. Export it under Grades")
    column = _column(heads, assignment)
    keys = [at for at, head in enumerate(heads) if head in ("ID", "SIS User ID", "SIS Login ID", "Integration ID")]
    rows: dict[str, int] = {}
    scale = 1.0
    for row in range(1, len(text.rows)):
        name = text.cell(row, 0).strip()
        if name.casefold() == _POINTS_POSSIBLE:
            possible = text.cell(row, column).replace(",", ".").strip()
            scale = float(possible) / maximum if re.fullmatch(r"\d+(\.\d+)?", possible) and maximum else 1.0
            continue
        for key in [text.cell(row, at).strip().casefold() for at in keys]:
            rows.setdefault(key, row) if key else None
        for joined in names.joined(name):
            rows[joined] = -1 if joined in rows and rows[joined] != row else row  # namesakes: by number only
    named = Counter(names.key(student.name) for student in everybody)
    nothing: dict[str, str] = {}
    for student, got in points.items():
        known = [text.casefold() for text in (*student.lms, student.id, student.email) if text]
        known += ["".join(names.parts(student.name))] if named[names.key(student.name)] < 2 else []
        found = next((rows[key] for key in known if rows.get(key, -1) > 0), None)
        if found is None:
            nothing[student.id] = "not in Canvas' gradebook: write the ID there into the column lms of students.csv"
        elif text.cell(found, column).strip() != "EX":  # excused
            text.replace(found, column, f"{got * scale:.2f}")
    return nothing


def _column(heads: list[str], assignment: str) -> int:
    """Return the index of an assignment's column. `heads` are the titles of the columns.

    Raises UserError if none or more than one fits.
    """
    number, words = re.match(r"(\d*)_?(.*)", assignment).groups()  # type: ignore[union-attr]
    titles = {at: head for at, head in enumerate(heads) if re.search(r"\(\d+\)$", head) and "read only" not in head}
    fits = [at for at, head in titles.items() if assignment.casefold() in head.casefold()]
    fits = fits or [at for at, head in titles.items() if words.replace("_", " ").casefold() in head.casefold()]
    fits = fits or [at for at, head in titles.items() if number and re.search(rf"(?<!\d){number}(?!\d)", head)]
    if len(fits) != 1:
        found = ", ".join(titles.values()) or "none"
        raise UserError(f"which column of Canvas' gradebook is {assignment}? Give one of them its name: {found}")
    return fits[0]
