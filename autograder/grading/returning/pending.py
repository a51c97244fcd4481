"""Changes of rules that grades do not follow yet."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from ...errors import UserError
from ..batch.rule_changes import follow_rules
from ..course.course import Course
from ..gradebook.book import BookClosed


def settle(course: Course, assignments: Sequence[str]) -> None:
    """Update the late penalties of assignments, which applied rules may have changed.

    Raises UserError if written rules would change a grade and are not applied, or if the gradebook cannot be written.
    """
    lines = follow_rules(course)
    if lines:
        where = shlex.quote(os.path.relpath(course.root))
        raise UserError(
            "\n".join([*lines[:-1], f"nothing was returned: run `autograder course {where} --apply` before"])
        )
    try:
        with course.book() as book:
            for assignment in assignments:
                for student, standing in book.standings(assignment).items():
                    if standing.late or standing.penalty:
                        book.update_penalty(assignment, student)
    except BookClosed as closed:
        raise UserError(f"late penalties were not updated, the gradebook cannot be written: {closed}") from closed
