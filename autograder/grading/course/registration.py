"""Registration of assignments that are missing from the gradebook."""

from __future__ import annotations

import shlex
import sys
import tempfile

from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from ...errors import UserError
from .settings import CourseSettings


def register(course: CourseSettings, assignment: str) -> None:
    """Add an assignment to the gradebook from its source notebooks, as `nbgrader generate_assignment` does.

    The release folder is not touched.
    Raises UserError with the remedy if there is no source notebook, or nbgrader rejects the notebook.
    """
    source = course.source(assignment)
    if not any(source.glob("*.ipynb")):
        raise UserError(
            f"the gradebook has no assignment {assignment}, and there is no notebook in {source} to add it from: put "
            f"it there (`autograder course {shlex.quote(str(course.root))}` puts back the lessons of this course), "
            "then grade again"
        )
    with tempfile.TemporaryDirectory(prefix="autograder-") as unused:
        directory = CourseDirectory(config=course.config, assignment_id=assignment, release_directory=unused)
        try:
            GenerateAssignment(coursedir=directory, config=course.config).start()
        except NbGraderException as error:
            raise UserError(
                f"the gradebook has no assignment {assignment}, and nbgrader cannot make it from {source}: "
                f"`nbgrader generate_assignment {shlex.quote(assignment)} --force` in {course.root} says why"
            ) from error
    print(
        f"{assignment} was not in the gradebook: added from {source}; course.toml tells when it is due", file=sys.stderr
    )
