"""Moodle's grading worksheet: a CSV file with a line for each participant.

Source: Moodle's `mod/assign/gradingtable.php` (what is exported) and `mod/assign/feedback/offline/importgradeslib.php`
(what is imported), with the headers of its English and Russian packs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..tables.csv_text import CsvText
from ..tables.local_times import is_day_first, read_time
from .interface.grade_table import Column, GradeTable, Participant, ReturnedGrade
from .interface.table_cells import has_decimal_comma, number_in

_HEADERS = {
    "identifier": ("identifier", "идентификатор"),
    "name": ("full name", "полное имя", "фамилия, имя", "имя / фамилия"),
    "id number": ("id number", "индивидуальный номер", "идентификационный номер"),
    "email": ("email address", "адрес электронной почты"),
    "status": ("status", "состояние", "статус"),
    "group": ("group", "groups", "группа", "группы"),
    "due": ("due date", "последний срок сдачи", "крайний срок сдачи", "срок сдачи"),  # there if somebody has another
    "grade": ("grade", "оценка"),
    "maximum": ("maximum grade", "максимальная оценка", "максимальный балл"),
    "scale": ("scale", "шкала"),
    "workflow": ("marking workflow state", "состояние поэтапного оценивания", "статус оценивания"),
    "can be changed": ("grade can be changed", "оценка может быть изменена"),
    "submitted": ("last modified (submission)", "последнее изменение (ответ)"),
    "changed": ("last modified (grade)", "последнее изменение (оценка)", "последнее изменение оценки"),
    "feedback": ("feedback comments", "отзыв в виде комментария", "комментарии к отзыву", "отзыв"),
}
_NEEDED = ("identifier", "grade")
# `submissionstatus_draft`, `userextensiondate` and `no` in the language packs.
_DRAFT = re.compile(r"(?i)\b(draft|черновик)\b")
_EXTENDED = re.compile(r"(?i)(?:extension granted until|продлено до):\s*(.+?)(?:\s+-(?:\s.*)?)?$")
_NO = ("no", "нет")
_BETWEEN_WORDS = re.compile(r"\n| {2,}")  # of a scale: Moodle 5 writes blanks for line breaks


class MoodleWorksheet(GradeTable):
    """A grading worksheet of Moodle."""

    title = "Moodle"
    file_name = "worksheet.csv"
    of_one_assignment = True
    stable = False  # each assignment has other numbers

    def __init__(self, text: CsvText, path: Path) -> None:
        """Find the columns by their headers in the first line of `text`, which has those that are needed."""
        super().__init__(text, path)
        heads = [text.cell(0, at).strip().casefold() for at in range(len(text.rows[0]))]
        self._columns = {
            name: next(at for at, head in enumerate(heads) if head in known)
            for name, known in _HEADERS.items()
            if set(heads) & set(known)
        }
        self._day_first = is_day_first(self._cell(row, "submitted") for row in range(1, len(text.rows)))
        told = map(self._participant, range(1, len(text.rows)))
        self.participants = list({each.number: each for each in told if each.number}.values())

    @staticmethod
    def fits(heads: Sequence[str]) -> bool:
        """Return whether the titles of a table's columns are those of a worksheet."""
        known = {head.casefold() for head in heads}
        return all(known & set(_HEADERS[name]) for name in _NEEDED)

    @property
    def russian(self) -> bool:
        """True if the worksheet is in Russian."""
        return self.text.cell(0, self._columns["grade"]).strip().casefold() != "grade"

    @property
    def has_grades(self) -> bool:
        """True if Moodle tells when a grade was given: later grades than these are not replaced."""
        column = self._columns.get("changed")
        return column is not None and any(
            self.text.cell(row, column).strip() not in ("", "-") for row in range(1, len(self.text.rows))
        )

    @property
    def has_workflow(self) -> bool:
        """True if grades are shown to students only in a state of the marking workflow."""
        return "workflow" in self._columns

    def cells(self, participant: Participant, grade: ReturnedGrade) -> dict[Column, tuple[int, str]]:
        found = {}
        if not self.refusal(participant, grade):
            text = f"{self._points(participant, grade):.2f}"
            found[Column.GRADE] = self._columns["grade"], text.replace(".", ",") if self._comma else text
        if "feedback" in self._columns:
            found[Column.COMMENT] = self._columns["feedback"], grade.comment
        return found

    def refusal(self, participant: Participant, grade: ReturnedGrade) -> str:
        if "scale" not in self._columns:
            maximum, points = number_in(self._cell(participant.row, "maximum")), self._points(participant, grade)
            if not maximum or round(points, 2) <= maximum:
                return ""
            return (
                f"no grade: {points:.2f} is above {maximum:.2f}, the maximum in Moodle, whose import drops such a "
                "grade without a word: lower the points in Formgrader, or write the grade into Moodle's gradebook "
                "by hand"
            )
        words = ", ".join(_BETWEEN_WORDS.split(self._cell(participant.row, "scale")))
        return (
            f"no grade: in Moodle the assignment is graded with the words {words}. Grade the rows by hand, or choose "
            "points in the assignment's settings and download the worksheet again"
        )

    def missing(self) -> str:
        return f"not in {self.path.name}"

    def _points(self, participant: Participant, grade: ReturnedGrade) -> float:
        """Return the points on Moodle's scale, if its maximum is known."""
        maximum = number_in(self._cell(participant.row, "maximum"))
        return grade.points * (maximum / grade.maximum if maximum and grade.maximum else 1.0)

    @property
    def _comma(self) -> bool:
        """True if numbers have a decimal comma.

        The numbers in the file decide. If none has a comma or a point, the language of the column's header decides.
        """
        rows = range(1, len(self.text.rows))
        comma = has_decimal_comma(self._cell(row, name) for name in ("maximum", "grade") for row in rows)
        return self.russian if comma is None else comma

    def _cell(self, row: int, name: str) -> str:
        return self.text.cell(row, self._columns[name]).strip() if name in self._columns else ""

    def _participant(self, row: int) -> Participant:
        cells = {name: self._cell(row, name) for name in _HEADERS}
        digits = re.search(r"(\d+)\s*$", cells["identifier"])
        extended = _EXTENDED.search(cells["status"])
        locked = cells["can be changed"].casefold() in _NO
        came, ends = cells["submitted"].strip("-"), [extended[1] if extended else "", cells["due"].strip("-")]
        time, *read = (read_time(text, self._day_first) for text in (came, *ends))
        unread = [text for text, end in zip(ends, read) if text and end is None]
        return Participant(
            row,
            digits[1] if digits else "",
            cells["name"],
            tuple(filter(None, (cells["id number"], cells["email"]))),
            cells["email"],
            cells["id number"],
            cells["group"],
            time,
            max(filter(None, read), default=None),
            bool(_DRAFT.search(cells["status"])),
            "no grade: Moodle has locked it in its gradebook" if locked else "",
            "" if time else came,
            "".join(unread[:1]),
        )
