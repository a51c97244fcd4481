"""The command `autograder withdraw`: hand-ins taken out of an assignment."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import UserError
from ..batch.spent_late_days import update_penalties
from ..course.course import Course, open_course
from ..course.remarks import Remarks
from ..course.withdrawals import withdraw
from ..files.atomic import describe_error, remove_folder
from ..files.locks import locked
from ..gradebook.book import BookClosed
from ..returning.filled_tables import systems_with_grade
from ..tables.roster import Student
from ..terminal import printable


def withdraw_work(root: Path, assignment: str, students: Sequence[str]) -> int:
    """Take the work of students out of an assignment, and print where it is kept. Returns the exit status 0.

    All attempts, the graded notebook, the page of feedback, points and comments move to `withdrawn/`.
    Raises UserError with the remedy if a student has nothing there, or something cannot be written.
    """
    course = open_course(root)
    there = _students(course, assignment)
    for student in students:
        if student not in there:
            near = difflib.get_close_matches(student, there, n=3) or sorted(there)[:6]
            raise UserError(
                f"{student} has nothing in {assignment} to withdraw; "
                + (f"is it one of these: {', '.join(near)}?" if near else "nobody has")
            )
    for student in students:
        for line in _withdraw(course, assignment, student):
            print(printable(line))
    if not course.graded(assignment):
        remove_folder(course.root / "returned" / assignment)  # nobody's grades any more, and `return` leaves it alone
    update_penalties(course, students, assignment)
    where = shlex.quote(os.path.relpath(course.root))
    print(f"next: autograder grade {where}, then report and return as after every grading")
    return 0


def _students(course: Course, assignment: str) -> set[str]:
    """Return the students with a hand-in, an attempt or a grade."""
    folders = [*course.submissions(assignment), *course.graded(assignment)]
    with course.book() as book:
        graded = book.standings(assignment)
    return {folder.parent.name for folder in folders} | {*course.attempts(assignment).students()} | graded.keys()


def _withdraw(course: Course, assignment: str, student: str) -> Iterator[str]:
    """Take out the work of one student, and yield sentences for the terminal."""
    place = course.root / "withdrawn"
    try:
        with locked(course.root, assignment), course.locked_book(assignment) as book:
            place = withdraw(course, assignment, student, book.describe(assignment, student))
            book.remove(assignment, student)
            course.remarks(assignment).write(student, Remarks())
    except OSError as error:
        raise UserError(f"{describe_error(error, place)}: what was not withdrawn stays") from error
    except BookClosed as closed:
        raise UserError(f"the grade of {student} stays, the gradebook cannot be written: {closed}") from closed
    who = next((each for each in course.roster.students if each.id == student), Student(student))
    yield f"{who}: {assignment} withdrawn; work, points and comments are in {os.path.relpath(place)}"
    for title in systems_with_grade(course, assignment, student):
        yield f"{who}: {title} was given a grade of it: take it out there, too"
