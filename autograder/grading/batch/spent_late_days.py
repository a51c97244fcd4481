"""Late penalties that change because late days were spent elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from ...errors import UserError
from ..course.course import Course
from ..gradebook.book import Book, BookClosed
from ..rules.course_file import Rules


def update_penalties(course: Course, students: Iterable[str], without: str) -> None:
    """Update the late penalties of students in all graded assignments but `without`.

    A submission that was graded now, in the assignment `without`, may have used late days. Fewer are then left for
    assignments with a later due date. Without late days in the rules nothing is done.
    Raises UserError if the gradebook cannot be written.
    """
    applied, chosen = course.applied, set(students)
    if applied is None or not applied.rules.late_days or not chosen:
        return
    try:
        with course.book() as book:
            _update(book, applied.rules, chosen, without)
    except BookClosed as closed:
        raise UserError(f"late penalties were not updated, the gradebook cannot be written: {closed}") from closed


def _update(book: Book, rules: Rules, students: AbstractSet[str], without: str) -> None:
    """Update the penalties of late submissions. The parameters are those of `update_penalties`."""
    for assignment in rules.assignments:
        if assignment == without or not book.has(assignment):
            continue
        for student, standing in book.standings(assignment).items():
            if student in students and (standing.late or standing.penalty):
                book.update_penalty(assignment, student)
