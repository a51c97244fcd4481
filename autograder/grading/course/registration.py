"""Registration of assignments that are missing from the gradebook.

nbgrader commits each cell separately. A killed process therefore leaves an assignment with some of its cells, and a
file that tells the next process to register the assignment again.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from ...errors import UserError
from ..gradebook.book import Book
from .settings import CourseSettings


def is_registered(course: CourseSettings, book: Book, assignment: str) -> bool:
    """Return whether the gradebook has an assignment with all its cells."""
    return book.has(assignment) and not _unfinished(course, assignment).exists()


def register(course: CourseSettings, assignment: str) -> None:
    """Add an assignment to the gradebook from its source notebooks.

    The gradebook is then as after `nbgrader generate_assignment`. The release folder is not touched. The caller must
    hold the assignment's lock.
    Raises UserError with the remedy if there is no source notebook, or nbgrader rejects the notebook.
    """
    source = course.source(assignment)
    if not any(source.glob("*.ipynb")):
        raise UserError(
            f"the gradebook has no assignment {assignment}, and there is no notebook in {source} to add it from: put "
            f"it there (`autograder course {shlex.quote(str(course.root))}` puts back the lessons of this course), "
            "then grade again"
        )
    _unfinished(course, assignment).touch()
    with tempfile.TemporaryDirectory(prefix="autograder-") as unused:
        directory = CourseDirectory(config=course.config, assignment_id=assignment, release_directory=unused)
        try:
            GenerateAssignment(coursedir=directory, config=course.config).start()
        except NbGraderException as error:
            raise UserError(
                f"the gradebook has no assignment {assignment}, and nbgrader cannot make it from {source}: "
                f"`nbgrader generate_assignment {shlex.quote(assignment)} --force` in {course.root} says why"
            ) from error
    _unfinished(course, assignment).unlink()
    print(
        f"{assignment} was not in the gradebook: added from {source}; course.toml tells when it is due", file=sys.stderr
    )


def _unfinished(course: CourseSettings, assignment: str) -> Path:
    """Return the path of a file that exists while an assignment is being registered."""
    return course.root / ".autograder" / f"{assignment}.unfinished"
