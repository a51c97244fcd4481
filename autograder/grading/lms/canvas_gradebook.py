"""Canvas' gradebook as a CSV file.

Source: Canvas' `lib/gradebook_exporter.rb` and `lib/gradebook_importer.rb`.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..tables.csv_text import CsvText
from .interface.grade_table import Column, GradeTable, Participant, ReturnedGrade
from .interface.gradebook_column import find_column
from .interface.table_cells import number_in

_POINTS_POSSIBLE = "points possible"
_TEST_STUDENT = re.compile(r"(?i)student, test|test student")
_REFUSALS = {
    "EX": "no grade: excused in Canvas (EX), which stays; if a grade shall count, take it away there and export again",
    "N/A": "no grade: Canvas says N/A, so that this student has not got the assignment, or names are hidden",
}
_KEYS = ("SIS Login ID", "SIS User ID", "Integration ID")


class CanvasGradebook(GradeTable):
    """A gradebook of Canvas, with a column for each assignment."""

    title = "Canvas"
    file_name = "canvas_gradebook.csv"

    def __init__(self, text: CsvText, path: Path) -> None:
        super().__init__(text, path)
        self._heads = [text.cell(0, at).strip() for at in range(len(text.rows[0]))]
        self._column = 0
        self._possible: float | None = None
        self.participants = [
            each for each in map(self._participant, range(1, len(text.rows))) if each.number and each.name
        ]

    def choose_column(self, assignment: str) -> None:
        titles = {
            at: head for at, head in enumerate(self._heads) if re.search(r"\(\d+\)$", head) and "read only" not in head
        }
        self._column = find_column(titles, assignment, "Canvas' gradebook")
        self.column = titles[self._column]
        rows = (row for row in range(1, len(self.text.rows)) if self._is_possible(row))
        self._possible = next((number_in(self.text.cell(row, self._column).strip()) for row in rows), None)

    def cells(self, participant: Participant, grade: ReturnedGrade) -> dict[Column, tuple[int, str]]:
        """Return the points, scaled to Canvas' points possible."""
        if self.refusal(participant, grade):
            return {}
        scale = self._possible / grade.maximum if self._possible and grade.maximum else 1.0
        return {Column.GRADE: (self._column, f"{grade.points * scale:.2f}")}

    def refusal(self, participant: Participant, grade: ReturnedGrade) -> str:
        return _REFUSALS.get(self.given(participant.row, self._column).upper(), "")

    def missing(self) -> str:
        return "not in Canvas' gradebook: write the ID there into the column lms of students.csv"

    def _is_possible(self, row: int) -> bool:
        return self.text.cell(row, 0).strip().casefold() == _POINTS_POSSIBLE

    def _participant(self, row: int) -> Participant:
        cells = {head: self.text.cell(row, at).strip() for at, head in enumerate(self._heads)}
        surname, _, given = cells.get("Student", "").partition(", ")
        name = f"{cells.get('FirstName', given)} {cells.get('LastName', surname)}".strip()
        login, sis = cells.get("SIS Login ID", ""), cells.get("SIS User ID", "")
        nobody = self._is_possible(row) or (_TEST_STUDENT.fullmatch(name) and not sis)
        identities = tuple(filter(None, (cells.get(key, "") for key in _KEYS)))
        email = login if "@" in login else ""
        return Participant(row, "" if nobody else cells["ID"], name, identities, email, login or sis)
