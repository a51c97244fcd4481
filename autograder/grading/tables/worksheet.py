"""Moodle's grading worksheet: a CSV file with a line for each participant.

Source: Moodle's `mod/assign/feedback/offline/importgradeslib.php`, with the headers of its English and Russian packs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...errors import UserError
from .csv_text import CsvText, read_csv
from .local_times import read_time

_HEADERS = {
    "identifier": ("identifier", "идентификатор"),
    "name": ("full name", "полное имя", "фамилия, имя", "имя / фамилия"),
    "id number": ("id number", "индивидуальный номер", "идентификационный номер"),
    "email": ("email address", "адрес электронной почты"),
    "status": ("status", "состояние", "статус"),
    "group": ("group", "группа"),
    "grade": ("grade", "оценка"),
    "maximum": ("maximum grade", "максимальная оценка", "максимальный балл"),
    "submitted": ("last modified (submission)", "последнее изменение (ответ)"),
    "due": ("due date", "срок сдачи", "последний срок сдачи"),
    "changed": ("last modified (grade)", "последнее изменение (оценка)", "последнее изменение оценки"),
    "feedback": ("feedback comments", "отзыв в виде комментария", "комментарии к отзыву", "отзыв"),
}
_NEEDED = ("identifier", "grade")


@dataclass(frozen=True)
class Participant:
    """A line of the worksheet.

    `row` is the line's index in the file. `number` is Moodle's number of the participant in this assignment. `maximum`
    is the highest grade, or None. `submitted` is the time of submission in local time without a time zone, or None.
    """

    row: int
    number: str
    name: str
    id_number: str
    email: str
    grade: str
    maximum: float | None
    submitted: datetime | None

    def __str__(self) -> str:
        """Return the number, with the name if that is known."""
        return f"{self.name} (participant {self.number})" if self.name else f"participant {self.number}"


class Worksheet:
    """A grading worksheet, in which grades and feedback comments can be replaced.

    `participants` maps Moodle's numbers of participants, as text, to the lines.
    """

    def __init__(self, text: CsvText, path: Path) -> None:
        """Find the columns by their headers in the first line of `text`. `path` is named in errors.

        Raises UserError if the columns of identifiers or of grades are missing.
        """
        self._text, self.path = text, path
        heads = [text.cell(0, at).strip().casefold() for at in range(len(text.rows[0]))] if text.rows else []
        self._columns = {
            name: next(at for at, head in enumerate(heads) if head in known)
            for name, known in _HEADERS.items()
            if set(heads) & set(known)
        }
        missing = [_HEADERS[name][0].capitalize() for name in _NEEDED if name not in self._columns]
        if missing:
            raise UserError(
                f"{path} is no grading worksheet of Moodle in English or Russian: it has no column "
                f"{' and no column '.join(missing)}. In the assignment, choose `Download grading worksheet`"
            )
        told = map(self._participant, range(1, len(text.rows)))
        self.participants = {each.number: each for each in told if each.number}

    @property
    def has_feedback(self) -> bool:
        """True if there is a column for comments."""
        return "feedback" in self._columns

    def set_grade(self, number: str, grade: float) -> None:
        """Replace the grade of a participant. If it is the same number, the text in the cell stays."""
        participant = self.participants[number]
        if _number(participant.grade) != round(grade, 2):
            text = f"{grade:.2f}"
            self._text.replace(participant.row, self._columns["grade"], text.replace(".", ",") if self._comma else text)

    def set_feedback(self, number: str, text: str) -> None:
        """Replace the feedback comment of a participant."""
        self._text.replace(self.participants[number].row, self._columns["feedback"], text)

    def to_bytes(self) -> bytes:
        """Return the content of the file, to be written."""
        return self._text.to_bytes()

    @property
    def _comma(self) -> bool:
        """True if numbers have a decimal comma.

        The numbers in the file decide. If none has a comma or a point, the language of the column's header decides.
        """
        told = [
            self._text.cell(row, self._columns[name])
            for name in ("maximum", "grade")
            if name in self._columns
            for row in range(1, len(self._text.rows))
        ]
        marks = {mark for text in told for mark in ",." if mark in text}
        return "," in marks if marks else self._text.cell(0, self._columns["grade"]).strip().casefold() != "grade"

    def _participant(self, row: int) -> Participant:
        cells = {name: self._text.cell(row, at).strip() for name, at in self._columns.items()}
        digits = re.search(r"(\d+)\s*$", cells["identifier"])
        return Participant(
            row,
            digits[1] if digits else "",
            cells.get("name", ""),
            cells.get("id number", ""),
            cells.get("email", ""),
            cells["grade"],
            _number(cells.get("maximum", "")),
            read_time(cells.get("submitted", "")),
        )


def read_worksheet(path: Path) -> Worksheet:
    """Read a grading worksheet. Raises UserError if the file is something else."""
    return Worksheet(read_csv(path), path)


def worksheet_path(root: Path, assignment: str) -> Path:
    """Return the path at which a course keeps the worksheet of an assignment."""
    return root / "worksheets" / f"{assignment}.csv"


def _number(text: str) -> float | None:
    """Return the number in a cell, which may have a decimal point or comma. Returns None if the cell has no number."""
    try:
        return float(text.replace(",", ".").replace("\xa0", ""))
    except ValueError:
        return None
