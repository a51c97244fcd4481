"""The command `autograder handout`: a copy of the release for each student."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat

from ...errors import UserError
from ...language import quantity
from ..course.course import Course, open_course
from ..course.personal_tables import PersonalTables
from ..creating.own_copies import own_copy
from ..files.inert_names import one_line
from ..gradebook.released_notebooks import ReleasedNotebook, released_cells
from ..rules.course_file import PER_STUDENT, RULES_FILE
from ..rules.toml_table import EXAMPLES
from ..tables.roster import STUDENTS_FILE
from ..terminal import printable


def hand_out(root: Path, assignment: str) -> int:
    """Write each student's own copy of a released assignment, and print where they are. Returns the exit status 0.

    The students are those of `students.csv` who have not left the course. A second call writes the same.
    Raises UserError with the remedy if the rules give all students the same tables, or if there is nothing to copy.
    """
    course = open_course(root)
    _refuse_common(course, assignment)
    release, handout = course.release(assignment), course.handout(assignment)
    notebooks = {path.stem: nbformat.read(path, as_version=4) for path in sorted(release.glob("*.ipynb"))}
    if not notebooks:
        raise UserError(
            f"{os.path.relpath(release)} has no notebook to hand out: run `autograder release DIR {assignment}`"
        )
    students = [student for student in course.roster.students if not student.dropped]
    if not students:
        raise UserError(f"{STUDENTS_FILE} names no students: write a line for each, with the columns id,name,email")
    released = {name: ReleasedNotebook(released_cells(each), None) for name, each in notebooks.items()}
    tables = PersonalTables.of(course.root, released, {})
    names = [exercise for each in tables.lessons.values() for exercise in each]
    if not names:
        raise UserError(f"{assignment} has no table of predictions with variants: hand out {release} as it is")
    for student in students:
        folder = handout / student.id
        shutil.copytree(release, folder, dirs_exist_ok=True)
        for name, notebook in notebooks.items():
            made = own_copy(notebook, student.id, tables.draw(student.id, name))
            nbformat.write(made, folder / f"{name}.ipynb")
    print(printable(f"{quantity(len(students), 'student')}: a folder for each in {os.path.relpath(handout)}"))
    print(f"their own tables: {one_line(', '.join(names))}")
    return 0


def _refuse_common(course: Course, assignment: str) -> None:
    """Raise UserError if the rules give all students the same tables."""
    if course.rules.rules.of(assignment).variants == PER_STUDENT:
        return
    if course.written.rules.of(assignment).variants == PER_STUDENT:
        raise UserError(f"{RULES_FILE} has changed: let grades follow it first, with `autograder course DIR --apply`")
    raise UserError(
        f"{RULES_FILE} gives all students the same tables of predictions: for tables of their own write into "
        f"[assignments.{assignment}] or [defaults]",
        EXAMPLES["variants"],
    )
