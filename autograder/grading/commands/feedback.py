"""The command `autograder feedback`: HTML pages for students, updated and released."""

from __future__ import annotations

import contextlib
import logging
import os
import sys

from ...errors import UserError
from ...language import quantity, with_offset
from ..course.course import Course
from ..feedback.exchange_pages import release_pages
from ..feedback.pages import make_pages
from ..files.inert_names import one_line
from ..gradebook.book import BookClosed


def make_feedback(course: Course, assignment: str | None, *, release: bool) -> int:
    """Make the missing and outdated feedback pages of one assignment, or of all graded ones.

    If `release` is True, all pages are then copied to nbgrader's exchange. Returns the exit status: 1 if a page could
    not be made or released.
    Raises UserError with the remedy if nothing was graded.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    chosen = [assignment] if assignment else course.graded_assignments()
    if not chosen or not any(course.graded(name) for name in chosen):
        raise UserError(f"nothing of {assignment or 'any assignment'} has been graded in {course.root}: grade it first")
    status = 0
    for name in chosen:
        students = [folder.parent.name for folder in course.graded(name)]
        _update_penalties(course, name)
        pages = make_pages(course, name, students)
        where = os.path.relpath(course.feedback(name, "STUDENT"), course.root)
        print(f"{name}: {quantity(len(pages.made), 'page')} made, {len(pages.kept)} up to date, in {where}")
        if pages.withheld:
            last = max(pages.withheld.values())
            many, when = quantity(len(pages.withheld), "receipt"), with_offset(last)
            print(f"  {many} instead of results, as course.toml says; the last until {when}")
        for student, why in pages.failed.items():
            print(f"  {one_line(student)}: no page: {one_line(why)}", file=sys.stderr)
        status |= bool(pages.failed)
        if release:
            found = release_pages(course, name, students)
            if found.others:
                print(f"  not released, as they did not come through the exchange: {one_line(', '.join(found.others))}")
            for language, why in found.failed.items():
                print(f"  not released ({language}): {one_line(why)}", file=sys.stderr)
            if found.languages:
                many = quantity(len(found.students), "student")
                print(f"  released to the exchange ({', '.join(found.languages)}): {many}")
            status |= bool(found.failed)
    return status


def _update_penalties(course: Course, assignment: str) -> None:
    """Update the late penalties of students to whom a person has given points since the grading."""
    with course.book() as book, contextlib.suppress(BookClosed):  # the next grading tries again
        for student, standing in book.standings(assignment).items():
            if standing.late and standing.by_hand:
                book.update_penalty(assignment, student)
