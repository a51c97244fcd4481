"""The command `autograder withdraw`: hand-ins taken out, or brought back."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..batch.counted_attempts import counted
from ..batch.points_before_and_after import list_point_changes, points_now
from ..batch.spent_late_days import update_penalties
from ..course.course import Course, open_course
from ..course.remarks import Remarks
from ..course.withdrawals import bring_back, last_withdrawn, read_grades, withdraw, withdraw_attempt
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
    before = points_now(course)
    for student in students:
        for line in _withdraw(course, assignment, student):
            print(printable(line))
    if not course.graded(assignment):
        remove_folder(course.root / "returned" / assignment)  # nobody's grades any more, and `return` leaves it alone
    update_penalties(course, students, assignment)
    for line in list_point_changes(before, points_now(course), falls=False):
        print(printable(f"late days are free again: {line}"))
    where = shlex.quote(os.path.relpath(course.root))
    print(f"next: autograder grade {where}, then report and return as after every grading")
    return 0


def withdraw_one(root: Path, assignment: str, student: str, number: int) -> int:
    """Take one attempt of a student out of an assignment; another one counts. Returns the exit status 0.

    `number` counts a student's attempts from 1, the earliest.
    Raises UserError with the remedy if there is no such attempt, or no other one.
    """
    course = open_course(root)
    store = course.attempts(assignment)
    with locked(course.root, assignment):
        store.keep_submitted(student)
        attempts = store.of(student)
        if number > len(attempts) or len(attempts) == 1:
            said = "; without --attempt all is withdrawn" if attempts else ""
            raise UserError(f"{student} has {quantity(len(attempts), 'attempt')} at {assignment}{said}")
        place = withdraw_attempt(course, assignment, student, attempts[number - 1])
        chosen = counted(store.of(student), course.rules, assignment, student)
        if chosen:
            store.submit(student, chosen)
    said = f"attempt {number} at {assignment} withdrawn; it is in {os.path.relpath(place)}, and another one counts"
    print(printable(f"{_named(course, student)}: {said}"))
    print(f"next: autograder grade {shlex.quote(os.path.relpath(course.root))}")
    return 0


def take_back(root: Path, assignment: str, students: Sequence[str]) -> int:
    """Bring back what was withdrawn last of each student, with points and comments. Returns the exit status 0.

    Raises UserError with the remedy if nothing is kept of a student, or something cannot be written.
    """
    course = open_course(root)
    for student in students:
        print(printable(f"{_named(course, student)}: {_take_back(course, assignment, student)}"))
    update_penalties(course, students, assignment)
    print(f"next: autograder grade {shlex.quote(os.path.relpath(course.root))}")
    return 0


def _take_back(course: Course, assignment: str, student: str) -> str:
    """Bring back the work of one student, and return what is said of it. The gradebook comes first.

    A disk that is full afterwards leaves work and grades in `withdrawn/`, and the same command goes on.
    """
    place = last_withdrawn(course, assignment, student)
    if place is None:
        raise UserError(f"nothing of {student} was withdrawn from {assignment}: see withdrawn/")
    try:
        with locked(course.root, assignment), course.locked_book(assignment) as book:
            grades = read_grades(place)
            if grades and not course.submitted(assignment, student).is_dir():
                book.restore(assignment, student, grades)
            if bring_back(course, assignment, student, place):
                return f"{assignment} is back"
    except OSError as error:
        raise UserError(f"{describe_error(error, place)}: the rest stays there") from error
    except BookClosed as closed:
        raise UserError(f"the gradebook cannot be written, so all stays in withdrawn/: {closed}") from closed
    where = os.path.relpath(place)
    return f"{assignment} was handed in again since, so only attempts are back; points and comments are in {where}"


def _named(course: Course, student: str) -> Student:
    return next((each for each in course.roster.students if each.id == student), Student(student))


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
    who = _named(course, student)
    yield f"{who}: {assignment} withdrawn; work, points and comments are in {os.path.relpath(place)}"
    for title in systems_with_grade(course, assignment, student):
        yield f"{who}: {title} was given a grade of it: take it out there, too"
