"""Snapshots of a course and an assignment, which can be pickled.

Another process can grade with these data alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from traitlets.config import Config

from ...checking.expected import Expected
from ..files.notebook_file import Unreadable, read_notebook
from ..gradebook.book import Book
from ..gradebook.released_notebooks import CellOrder, ReleasedNotebooks
from ..limits import Limits
from ..rules.course_file import PER_STUDENT
from ..wall_kinds import Wall
from .assignment_files import EncodedFiles, encoded_files
from .course import Course
from .own_copy import OwnNotebook
from .personal_tables import PersonalTables


@dataclass(frozen=True)
class CourseSnapshot:
    """The settings of a course that grading depends on.

    `ignore` holds nbgrader's patterns for files that are not copied. `output` is the config of nbgrader's preprocessor
    `LimitOutput`. If `isolation` is AUTO, the machine that grades chooses the wall.
    """

    root: Path
    limits: Limits
    isolation: Wall
    ignore: tuple[str, ...]
    output: Config

    @classmethod
    def of(cls, course: Course, isolation: Wall | None = None) -> CourseSnapshot:
        """Create a snapshot of `course`. `isolation` overrides the course's setting."""
        chosen = isolation or course.isolation.wall()
        output = Config(LimitOutput=course.config.LimitOutput)
        return cls(course.root, course.isolation.limits(), chosen, tuple(course.ignore), output)


@dataclass(frozen=True)
class AssignmentSnapshot:
    """An assignment with its released notebooks and files.

    `due` tells whether the assignment has a due date. `expected` maps notebooks to the expected results of their
    exercises; what it lacks is computed on the machine that grades. `personal` are the tables that differ from student
    to student, or None if the rules give all students the same. If two snapshots have equal digests, they are equal.
    """

    name: str
    released: ReleasedNotebooks = field(compare=False)
    files: EncodedFiles = field(compare=False)
    due: bool
    digest: str
    expected: dict[str, dict[str, Expected]] = field(default_factory=dict, compare=False)
    personal: PersonalTables | None = field(default=None, compare=False)

    @classmethod
    def of(cls, course: Course, book: Book, name: str) -> AssignmentSnapshot:
        """Create a snapshot of an assignment. Sets its due date in the gradebook if it has none yet.

        Raises UserError if its files are too large, MissingEntry if the gradebook lacks it, BookClosed if the gradebook
        cannot be written.
        """
        book.set_missing_due_date(name, course.due_date(name))
        source, due = course.source(name), book.is_due(name)
        released = {
            each: replace(notebook, order=_cell_order(source / f"{each}.ipynb"))
            for each, notebook in book.released(name).items()
        }
        files = encoded_files(source)
        personal = None
        if course.rules.rules.of(name).variants == PER_STUDENT:
            teams = {student.id: student.group for student in course.roster.students if student.group}
            personal = PersonalTables.of(course.root, released, teams)
        digest = hashlib.sha256(repr((source, released, files, due, personal)).encode()).hexdigest()
        return cls(name, released, files, due, digest, personal=personal)

    def released_to(self, student: str) -> ReleasedNotebooks:
        """Return the notebooks as a student got them."""
        if self.personal is None:
            return self.released
        return {
            name: OwnNotebook(each.cells, each.kernel, each.order, tables=self.personal, student=student, name=name)
            for name, each in self.released.items()
        }

    def draw_tables(self, students: Sequence[str]) -> None:
        """Draw the own tables of students in advance: what is printed meanwhile in this process would be lost."""
        if self.personal:
            for name, student in product(self.released, students):
                self.personal.draw(student, name)


def _cell_order(path: Path) -> CellOrder:
    """Return the cells of a source notebook in order. The result is empty if the notebook cannot be read."""
    try:
        cells = read_notebook(path)["cells"]
        return tuple(
            (name, "" if name else "".join(cell["source"]).strip())
            for cell in cells
            for name in (cell["metadata"].get("nbgrader", {}).get("grade_id", ""),)
        )
    except (Unreadable, LookupError, TypeError, AttributeError):
        return ()
