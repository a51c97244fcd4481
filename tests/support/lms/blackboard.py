"""Blackboard Learn: what it exports, and a judge of what it imports.

Sources: Blackboard is not public. Names in archives are those that nbgrader's `zip_collect` documents. Receipts are
those that public parsers read: Name, Assignment, Date Submitted, Current Grade, Submission Field. The Grade Center's
file is that of Blackboard's help on "Work offline".
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from support.lms.files import write_zip

_WORDS = {
    "en_US": ("attempt", "Name", "Last Name", "First Name", "Username", "Student ID", "Total Pts: {} Score"),
    "en_GB": ("attempt", "Name", "Surname", "First Name", "Username", "Student ID", "Total Pts: {} Score"),
    "ru": ("попытка", "Имя", "Фамилия", "Имя", "Имя пользователя", "Идентификатор учащегося", "Всего баллов: {} Балл"),
}


@dataclass
class Attempt:
    """One attempt: local time, and contents by file name."""

    came: datetime
    files: dict[str, str | bytes]


@dataclass
class Student:
    """A student of the course. `score` stands in the Grade Center."""

    user: str
    given: str
    surname: str
    attempts: list[Attempt] = field(default_factory=list)
    score: str = ""


@dataclass
class Site:
    """An assignment in Blackboard. `receipts` tells whether the archive has its text files."""

    students: list[Student]
    title: str = "Home work_1"
    language: str = "en_US"
    points: float = 10
    receipts: bool = True

    def archive(self, path: Path) -> Path:
        """Write the archive with all attempts."""
        word, name, *_ = _WORDS[self.language]
        files: dict[str, str | bytes] = {}
        for student in self.students:
            for attempt in student.attempts:
                above = f"{self.title}_{student.user}_{word}_{attempt.came:%Y-%m-%d-%H-%M-%S}"
                files |= {f"{above}_{own}": data for own, data in attempt.files.items()}
                if self.receipts:
                    said = [f"{name}: {student.given} {student.surname} ({student.user})", f"Assignment: {self.title}"]
                    said += ["Date Submitted: ...", "Current Grade: Needs Grading", "", "Submission Field:", "no text"]
                    files[f"{above}.txt"] = "\r\n".join(said)
        return write_zip(path, files)

    def grade_center(self, path: Path) -> Path:
        """Write the file of the Grade Center: tabs, UTF-16, with the number of each column in its title."""
        _, _, surname, given, user, number, total = _WORDS[self.language]
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        titles = [f"{self.title} [{total.format(f'{self.points:g}')}] |1281892", "Other [Total Pts: 5 Score] |1281893"]
        writer.writerow([surname, given, user, number, "Last Access", "Availability", *titles])
        for each in self.students:
            writer.writerow([each.surname, each.given, each.user, f"n{each.user}", "", "Yes", each.score, "3.00"])
        path.write_bytes(text.getvalue().encode("utf-16"))
        return path

    def import_grades(self, data: bytes) -> None:
        """Take the scores of the column with the number; a row is found by its Username."""
        rows = list(csv.reader(io.StringIO(data.decode("utf-16"), newline=""), delimiter="\t"))
        at = next(at for at, head in enumerate(rows[0]) if head.endswith("|1281892"))
        user = rows[0].index(_WORDS[self.language][4])
        by_user = {each.user: each for each in self.students}
        for row in rows[1:]:
            assert re.fullmatch(r"(\d+\.\d\d)?", row[at]), row
            by_user[row[user]].score = row[at]
            assert row[at + 1] == "3.00"
