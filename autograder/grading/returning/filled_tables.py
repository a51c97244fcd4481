"""Tables of an LMS, with grades, and a record of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import UserError
from ...language import POINT, decimal
from ...messages.feedback import WORKSHEET
from ..course.course import Course
from ..files.atomic import replace_json
from ..lms.interface.grade_table import Column, Filled, GradeTable, Kept, Participant, ReturnedGrade, cell_name
from ..lms.interface.table_cells import Ledger
from ..lms.kept_tables import KEPT
from ..lms.systems import SYSTEMS
from ..tables.roster import STUDENTS_FILE, Unplaced
from .grades import Grade, Grades


@dataclass
class FilledTables:
    """Tables in which grades were written.

    `files` maps names of files to tables. `lines` maps students to the LMS's title and their line. `nothing` maps
    people who get nothing to the reason, `kept` maps students to what a person has written and stays. `again` tells
    whether grades of the assignment were returned before.
    """

    files: dict[str, GradeTable] = field(default_factory=dict)
    lines: dict[str, tuple[str, Participant]] = field(default_factory=dict)
    nothing: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[Kept]] = field(default_factory=dict)
    again: bool = False


def fill_tables(
    course: Course, assignment: str, tables: Sequence[GradeTable], grades: Grades, overwrites: bool
) -> FilledTables:
    """Write grades into tables. Values that a person has written stay, unless `overwrites` is True.

    A student needs a line in one of the tables of an LMS: each group of a class may have its own.
    Raises UserError if a table has no column for the assignment, or belongs to another assignment.
    """
    record = _record(course, assignment)
    written = _written(record)
    ledger, done = Ledger(written, overwrites), FilledTables(again=bool(written))
    returned = {
        id: ReturnedGrade(
            each.student, each.points, grades.maximum, _describe(each, grades.maximum, course.language), each.sender
        )
        for id, each in grades.by_student.items()
    }
    found: list[tuple[GradeTable, Filled]] = []
    for table in tables:
        if table.is_of_other_assignment(returned, course.roster):
            if table.path.parent == course.root / KEPT:
                done.nothing[f"{KEPT}/{table.path.name}"] = (
                    "it belongs to another assignment, so nothing is written into it: delete it"
                )
                continue
            raise UserError(
                f"{table.path} belongs to another assignment than {assignment}: its people have other numbers than in "
                "the archive that was collected. Download the worksheet of this assignment"
            )
        filled = table.fill_in(assignment, returned, course.roster, ledger)
        found.append((table, filled))
        done.lines |= {id: (table.title, line) for id, line in filled.lines.items()}
        done.kept |= filled.kept
        done.files[_free(table.file_name, done.files)] = table
    for table, filled in found:
        others = {id for other, each in found if other.title == table.title for id in each.lines}
        done.nothing |= {id: why for id, why in filled.nothing.items() if id in filled.lines or id not in others}
        done.nothing |= _unknown_senders(table, course, assignment, grades)
    record.parent.mkdir(parents=True, exist_ok=True)
    if tables:
        replace_json(record, ledger.written)
    return done


def systems_with_grade(course: Course, assignment: str, student: str) -> list[str]:
    """Return the titles of the LMSs into whose tables we have written a grade of a student."""
    written = _written(_record(course, assignment))
    return [lms.title for lms in SYSTEMS if cell_name(lms.title, student, Column.GRADE) in written]


def _record(course: Course, assignment: str) -> Path:
    return course.root / ".autograder" / "returned" / f"{assignment}.json"


def _written(record: Path) -> Mapping[str, list[str]]:
    found: Mapping[str, list[str]] = json.loads(record.read_text("utf-8")) if record.is_file() else {}
    return found


def _free(name: str, taken: Mapping[str, GradeTable]) -> str:
    """Return the name of a file, with a number if it is taken: "worksheet-2.csv"."""
    stem, _, suffix = name.rpartition(".")
    names = [name, *(f"{stem}-{number}.{suffix}" for number in range(2, len(taken) + 2))]
    return next(each for each in names if each not in taken)


def _unknown_senders(table: GradeTable, course: Course, assignment: str, grades: Grades) -> dict[str, str]:
    """Return the participants who handed in by a table, but have no submission in the course.

    The result maps each to the reason.
    """
    store, roster = course.attempts(assignment), course.roster
    known = {
        attempt.lms.get(key, "")
        for id in [*grades.by_student, *grades.nothing]
        for attempt in store.all_of(id)
        for key in ("number", "participant")
    }
    unknown = {}
    where = "see unplaced/; what is not there was another lesson's notebook, or withdrawn"
    for each in table.participants:
        if not each.handed_in or each.number in known:
            continue
        if each.hidden:
            unknown[str(each)] = f"row left empty: handed in, but no usable notebook was collected: {where}"
            continue
        try:
            passing = None if table.stable else [each.number]
            student = roster.find([*each.identities, each.number], each.name, passing=passing)
            if student.id in grades.by_student or student.id in grades.nothing or student.dropped:
                continue
            said = f"no submission of {student} was collected: {where}"
        except Unplaced:
            said = f"belongs to nobody in {STUDENTS_FILE}: collect with --add"
        unknown[str(each)] = f"row left empty: handed in, but {said}"
    return unknown


def _describe(grade: Grade, maximum: float, language: str) -> str:
    """Return the comment on a grade, in `language`: points, maximum, and the late penalty if there is one."""
    shown = {name: decimal(value, language) for name, value in (("points", grade.points), ("maximum", maximum))}
    said = [WORKSHEET["points"].read(language).format(noun=POINT.after(grade.points).read(language), **shown)]
    if grade.penalty:
        lost = {"points": decimal(grade.penalty, language), "noun": POINT.after(grade.penalty).read(language)}
        said.append(WORKSHEET["late"].read(language).format(**lost))
    return "; ".join(said)
