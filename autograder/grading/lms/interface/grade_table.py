"""Tables of grades that an LMS exports and imports again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from ...tables import names
from ...tables.csv_text import CsvText
from ...tables.roster import Roster, Student, Unplaced
from .origin import Sender
from .table_cells import Ledger, equal_numbers


@dataclass(frozen=True)
class Participant:
    """A line of the table.

    `row` is the line's index in the file. `number` is the one by which the LMS's archives name the person.
    `identities` are other numbers, user names and the e-mail address, the best first. `group` is the name of the team.
    `submitted` is the time of submission, `extended` the end of an extension or the person's own due date; both are
    local times without a zone. `unread` and `unread_extension` are the texts of such times that cannot be read.
    `draft` tells whether the student has not submitted the draft. `locked` is a reason why the LMS takes no grade.
    """

    row: int
    number: str
    name: str
    identities: tuple[str, ...] = ()
    email: str = ""
    id: str = ""
    group: str = ""
    submitted: datetime | None = None
    extended: datetime | None = None
    draft: bool = False
    locked: str = ""
    unread: str = ""
    unread_extension: str = ""

    @property
    def hidden(self) -> bool:
        """True if the LMS hides who the person is."""
        return not (self.identities or self.name)

    @property
    def handed_in(self) -> bool:
        """True if the table has a time of submission, which may be one that cannot be read."""
        return bool(self.submitted or self.unread)

    def __str__(self) -> str:
        """Return the number, with the name if that is known."""
        return f"{self.name} (participant {self.number})" if self.name else f"participant {self.number}"


@dataclass(frozen=True)
class ReturnedGrade:
    """A grade to be written into a table.

    `comment` says it in words. `sender` is that of the latest attempt.
    """

    student: Student
    points: float
    maximum: float
    comment: str
    sender: Sender


class Column(StrEnum):
    """The columns that are filled in."""

    GRADE = "grade"
    COMMENT = "comment"


def cell_name(title: str, student: str, column: Column) -> str:
    """Return the name of a cell in the record of what we write. `title` is the LMS's."""
    return f"{title} {student} {column}"


@dataclass(frozen=True)
class Kept:
    """A cell in which a person's value stays.

    `new` is the value that was to be written.
    """

    column: Column
    old: str
    new: str

    def __str__(self) -> str:
        return f"the {self.column} {self.old!r} of a person stays, not {self.new!r}"


@dataclass
class Filled:
    """The outcome of filling in a table.

    `lines` maps students to their lines. `nothing` maps students without a grade in the table to the reason. `kept`
    maps students to what a person has written and stays.
    """

    lines: dict[str, Participant] = field(default_factory=dict)
    nothing: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[Kept]] = field(default_factory=dict)


class GradeTable(ABC):
    """A CSV file of grades, in which cells can be replaced.

    `title` is the LMS's, `file_name` the name of the filled table. `of_one_assignment` tells whether the table belongs
    to one assignment, so that the course keeps it for `return`. `column` is the title of the chosen column, in a table
    of several assignments.
    """

    title: str
    file_name: str
    of_one_assignment = False
    stable = True  # numbers are the same in all assignments
    column = ""

    def __init__(self, text: CsvText, path: Path) -> None:
        self.text, self.path = text, path
        self.participants: list[Participant] = []

    def to_bytes(self) -> bytes:
        """Return the content of the file, to be written."""
        return self.text.to_bytes()

    @property
    def by_number(self) -> dict[str, Participant]:
        """The lines by the number of the participant."""
        return {each.number: each for each in self.participants}

    def idle(self) -> list[str]:
        """Return those who handed in nothing, if the LMS hides the names. Others are named by `students.csv`."""
        hidden = [each for each in self.participants if each.hidden] if self.of_one_assignment else []
        return [str(each) for each in hidden if not each.handed_in]

    def fill_in(self, assignment: str, grades: Mapping[str, ReturnedGrade], roster: Roster, ledger: Ledger) -> Filled:
        """Write grades, and comments where there is a column for them.

        A student's line is that of the number in the latest attempt, or else of the e-mail address, user name or name.
        What a person has written stays (see `Ledger`).
        Raises UserError if the column of the assignment is unknown.
        """
        filled = Filled()
        self.choose_column(assignment)
        for participant, student in self._owned(grades, roster):
            grade = grades[student]
            filled.lines[student] = participant
            self._fill_line(participant, grade, ledger, filled)
        for student in grades.keys() - filled.lines.keys():
            filled.nothing[student] = self.missing()
        return filled

    def is_of_other_assignment(self, grades: Mapping[str, ReturnedGrade], roster: Roster) -> bool:
        """Return whether people have other numbers here than in the collected archives, and nobody has the same.

        Of two assignments nobody has the same number. Who handed in by another way has none.
        """
        own = {id: each.sender.own_number for id, each in grades.items() if each.sender.form == self.title}
        numbers = set(filter(None, own.values()))
        if not self.of_one_assignment or numbers & self.by_number.keys():
            return False
        return any(own.get(self._found(each, roster)) for each in self.participants)

    def _fill_line(self, participant: Participant, grade: ReturnedGrade, ledger: Ledger, filled: Filled) -> None:
        """Write grade and comment. Beside a grade that stays, a comment with other points would mislead."""
        student = grade.student.id
        cells, stays = self.cells(participant, grade), False
        for column in sorted(cells, key=lambda each: each is not Column.GRADE):
            at, new = cells[column]
            old, cell = self.given(participant.row, at), cell_name(self.title, student, column)
            if not ledger.may_replace(cell, old, new):
                filled.kept.setdefault(student, []).append(Kept(column, old, new))
                stays |= column is Column.GRADE
            elif stays:
                continue
            elif participant.locked:
                filled.nothing[student] = participant.locked
            else:
                ledger.record(cell, new)
                if not equal_numbers(old, new):
                    self.text.replace(participant.row, at, new)
        if why := self.refusal(participant, grade):
            filled.nothing[student] = why

    def _owned(self, grades: Mapping[str, ReturnedGrade], roster: Roster) -> Iterator[tuple[Participant, str]]:
        """Yield the lines of students with grades, each with the student's id."""
        owners = [
            (grade.sender.own_number, student)
            for student, grade in grades.items()
            if grade.sender.form == self.title and grade.sender.own_number
        ]
        counts = Counter(number for number, _ in owners)
        numbers = {number: student for number, student in owners if counts[number] == 1}  # others are of a team
        done: set[str] = set()
        for participant in sorted(self.participants, key=lambda each: each.number not in numbers):
            student = numbers.get(participant.number) or self._found(participant, roster)
            if student in grades and student not in done:
                done.add(student)
                yield participant, student

    @cached_property
    def _namesakes(self) -> Counter[tuple[str, ...]]:
        """The numbers of people with the same name, by the key of that name."""
        return Counter(names.key(each.name) for each in self.participants)

    def _found(self, participant: Participant, roster: Roster) -> str:
        """Return the student's id for a line, or "" if no student or more than one fits."""
        name = participant.name if self._namesakes[names.key(participant.name)] == 1 else ""
        numbers = [*participant.identities, *([participant.number] if self.stable else [])]
        try:
            passing = None if self.stable else ()
            return roster.find(numbers, name, passing=passing).id if numbers or name else ""
        except Unplaced:
            return ""

    def choose_column(self, assignment: str) -> None:
        """Choose the column of an assignment, in a table of several. Raises UserError if none or more than one fits."""
        return

    def given(self, row: int, column: int) -> str:
        """Return the value in a cell, or "" if nobody has given one."""
        return self.text.cell(row, column).strip()

    def refusal(self, participant: Participant, grade: ReturnedGrade) -> str:
        """Return why a line cannot get a grade, or ""."""
        return ""

    @abstractmethod
    def missing(self) -> str:
        """Return the reason for a student who has no line."""

    @abstractmethod
    def cells(self, participant: Participant, grade: ReturnedGrade) -> dict[Column, tuple[int, str]]:
        """Return the cells to write into a line: a dict from column to its index and the text."""
