"""Blackboard Learn: the archive of an assignment, and the Grade Center's file.

Sources: nbgrader's documentation of `zip_collect` and public parsers of these archives for names and receipts;
Blackboard's help on "Work offline" for the Grade Center; public programs that clean its cells of words such as "Needs
Grading".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ..tables import names
from ..tables.csv_text import CsvText
from .interface.grade_table import Column, GradeTable, Participant, ReturnedGrade
from .interface.gradebook_column import describe_columns, find_column
from .interface.origin import Origin
from .interface.system import Lms
from .interface.table_cells import number_in

# The word between user name and time is "attempt" in the language of the course.
_PATH = re.compile(r"(?P<user>[^/]+?)_[^\W\d_]+_(?P<time>\d{4}(?:-\d\d){5})(?:(?P<rest>_[^/]+)|\.txt)$")
_RECEIPT = "attempt.txt"
_NAMED = re.compile(r"\A\ufeff?[^:\n]+:(?P<name>[^\n]*)\((?P<user>[^()\n]+)\)\s*?(?:\n|\Z)")  # Name: Ann Lee (ann)
_LONGEST_RECEIPT = 1 << 16
_COLUMN = re.compile(r"\|(\d+)$")  # the number of a column in the Grade Center
_POINTS = re.compile(r"\[[^\[\]]*?(\d+(?:[.,]\d+)?)[^\[\]]*\]\s*\|\d+$")
# What is shown in place of a grade, or in front of that of an earlier attempt: "Needs Grading(8.00)".
_STATE = re.compile(r"(?:[^()\d]+\((?P<grade>\d+(?:[.,]\d+)?)\)|(?i:needs grading|in progress))")
_HEADERS = {
    "surname": ("last name", "surname", "фамилия"),
    "given": ("first name", "имя"),
    "user": ("username", "user name", "имя пользователя"),
    "id": ("student id", "идентификатор учащегося", "идентификатор студента", "номер студента"),
}


class Blackboard(Lms):
    """Blackboard Learn."""

    title = "Blackboard"
    table_form = "the file of the Grade Center, with the column Username and numbers in the titles of columns"
    tell_rivals = "collect the archive as Blackboard gives it, with the .txt files, which name the user"

    def origin(self, path: str) -> Origin | None:
        found = _PATH.match(path)
        if not found:
            return None
        try:
            time = datetime.strptime(found["time"], "%Y-%m-%d-%H-%M-%S")
        except ValueError:
            time = None
        # The assignment's name stands before the user's, and both may have underscores.
        pieces = found["user"].split("_")
        users = tuple("_".join(pieces[at:]) for at in range(len(pieces)))
        rest = (found["rest"] or _RECEIPT).lstrip("_")
        unread = "" if time else found["time"]
        return Origin("", users, f"{found['user']} {found['time']}", rest, time, unread=unread)

    def name_in_path(self, text: str) -> str:
        return " ".join(names.parts(text))

    def team_names(self, origin: Origin) -> tuple[str, ...]:
        """Return what stands in the place of the user name."""
        return (origin.name, *origin.numbers)

    def told(self, files: Mapping[str, Path]) -> dict[str, Origin]:
        """Return name and user name of each sender whose receipt, such as `HW_ann_attempt_TIME.txt`, is there."""
        found = {}
        for path, place in files.items():
            origin = self.origin(path)
            if origin and origin.rest == _RECEIPT and place.stat().st_size <= _LONGEST_RECEIPT:
                said = _NAMED.match(place.read_text(encoding="utf-8", errors="replace"))
                if said and said["user"].strip() in origin.numbers:
                    found[origin.attempt] = Origin(said["name"].strip(), (said["user"].strip(),), origin.attempt, "")
        return found

    def identity(self, origin: Origin) -> str:
        """Return the user name."""
        return origin.numbers[-1]

    def table(self, text: CsvText, heads: Sequence[str], path: Path) -> GradeTable | None:
        known = {head.casefold() for head in heads}
        return GradeCenter(text, path) if known & set(_HEADERS["user"]) and any(map(_COLUMN.search, heads)) else None

    def advice(self, tables: Mapping[str, GradeTable], written: Collection[str], again: bool) -> list[str]:
        if tables:
            return describe_columns(tables)
        return [
            "Blackboard's Grade Center was not filled in: download it (Work Offline), and give the file to `autograder "
            "return` as --gradebook FILE"
        ]


class GradeCenter(GradeTable):
    """The file of Blackboard's Grade Center, with a column for each assignment."""

    title = "Blackboard"
    file_name = "blackboard_grades.csv"

    def __init__(self, text: CsvText, path: Path) -> None:
        super().__init__(text, path)
        self._heads = [text.cell(0, at).strip() for at in range(len(text.rows[0]))]
        self._column, self._scale = 0, 0.0
        self.participants = [each for each in map(self._participant, range(1, len(text.rows))) if each.number]

    def choose_column(self, assignment: str) -> None:
        titles = {at: head for at, head in enumerate(self._heads) if _COLUMN.search(head)}
        self._column = find_column(titles, assignment, "Blackboard's Grade Center")
        self.column = titles[self._column]
        points = _POINTS.search(self._heads[self._column])
        self._scale = (number_in(points[1]) if points else None) or 0.0

    def cells(self, participant: Participant, grade: ReturnedGrade) -> dict[Column, tuple[int, str]]:
        scale = self._scale / grade.maximum if self._scale and grade.maximum else 1.0
        return {Column.GRADE: (self._column, f"{grade.points * scale:.2f}")}

    def given(self, row: int, column: int) -> str:
        text = super().given(row, column)
        state = _STATE.fullmatch(text)
        return state["grade"] or "" if state else text

    def missing(self) -> str:
        return "not in Blackboard's Grade Center: write the Username there into the column lms of students.csv"

    def _participant(self, row: int) -> Participant:
        cells = {
            name: self.text.cell(row, at).strip()
            for name, known in _HEADERS.items()
            for at, head in enumerate(self._heads)
            if head.casefold() in known
        }
        name = f"{cells.get('given', '')} {cells.get('surname', '')}".strip()
        email = cells["user"] if "@" in cells["user"] else ""
        identities = tuple(filter(None, (cells.get("id", ""),)))
        return Participant(row, cells["user"], name, identities, email, cells["user"])
