"""Times of submission and extensions, told by an LMS or an instructor."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from ..course.course import Course
from ..files.nbgrader_files import is_future
from ..gradebook.book import Book
from ..lms.interface.grade_table import Participant
from ..lms.interface.system import Lms
from ..tables.roster import STUDENTS_FILE, Student
from ..tables.supplied_times import TIMES_FILE, late_without_time, supplied_times, supply
from .deliveries import Delivery


class SubmissionTime(NamedTuple):
    """A time of submission, and its source, such as "worksheet".

    If the time is unknown, it is None, and the source is "". `assumed` tells whether the LMS says only if the work was
    late, and the time is the latest possible one. `doubt` tells why a time that was given is not taken.
    """

    time: datetime | None = None
    source: str = ""
    assumed: bool = False
    doubt: str = ""


class SubmissionTimes:
    """The times of a course's submissions.

    An LMS's times are in the course's time zone.
    """

    def __init__(self, course: Course, book: Book) -> None:
        self._course = course
        self.zone = course.stated.zone  # even before the rules are applied
        stated = {name: one.due for name, one in course.rules.rules.assignments.items() if one.due}
        in_book = {name: due.replace(tzinfo=UTC) for name, due in book.due_dates().items()}
        self._due = {**stated, **in_book}
        self._supplied = supplied_times(course.root, self.zone)

    def of(
        self, delivery: Delivery, lms: Lms | None, assignment: str, student: Student, arrival: SubmissionTime
    ) -> SubmissionTime:
        """Return when a student's submission came. `arrival` is taken if nothing else tells it.

        A time that cannot be read, or is in the future, is unknown: another one would be a guess.
        """
        found = self._found(delivery, lms, assignment, student, arrival)
        if found.time and is_future(found.time):
            return SubmissionTime(doubt=f"{self._in_words(found.time)} ({found.source}) is in the future")
        return found

    def _found(
        self, delivery: Delivery, lms: Lms | None, assignment: str, student: Student, arrival: SubmissionTime
    ) -> SubmissionTime:
        told = self._told_by_lms(delivery)
        if told.time:
            return told
        if time := self._supplied.get((student.id, assignment)):
            return SubmissionTime(time, TIMES_FILE)
        if told.doubt:
            return told
        if lms and not lms.keeps_times and not delivery.origin.late:
            due = self._due.get(assignment)
            return SubmissionTime(due, f"{lms.title}: in time", assumed=True) if due else SubmissionTime()
        if delivery.time:  # of a file that Canvas calls late: it came before the download
            time = delivery.time
            return SubmissionTime(
                time if time.tzinfo else time.replace(tzinfo=self.zone), "archive", assumed=delivery.origin.late
            )
        return arrival

    def _told_by_lms(self, delivery: Delivery) -> SubmissionTime:
        if time := delivery.origin.time:
            return SubmissionTime(time if time.tzinfo else time.replace(tzinfo=self.zone), delivery.origin.time_from)
        lines = delivery.found.participants.values()
        if time := next((each.submitted for each in lines if each.submitted), None):
            return SubmissionTime(time.replace(tzinfo=self.zone), "worksheet")
        texts = filter(None, [delivery.origin.unread, *(each.unread for each in lines)])
        return SubmissionTime(doubt="".join(f"{text!r} cannot be read" for text in [*texts][:1]))

    def has_due_date(self, assignment: str) -> bool:
        """Return whether the gradebook or `course.toml` has a due date of the assignment."""
        return assignment in self._due

    def shown(self, moment: SubmissionTime) -> str:
        """Return a text such as ", 2026-09-17 18:05 (worksheet)", to put after a sentence."""
        if moment.time is None:
            return ", no time known"
        return f", {self._in_words(moment.time)} ({moment.source})"

    def _in_words(self, time: datetime) -> str:
        return f"{time.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def remarks(
        self,
        delivery: Delivery,
        title: str,
        assignment: str,
        student: Student,
        line: Participant | None,
        moment: SubmissionTime,
    ) -> list[str]:
        """Return what an instructor should know of the time of a submission.

        `title` is that of the LMS, `line` the student's line in its table, `moment` the time as it was found.
        """
        said = []
        if moment.doubt:
            said.append(f"{moment.doubt}, so nobody knows whether it was late: {supply(student.id, assignment)}")
        if line and line.unread_extension and not self._course.written.extension(student.id, assignment):
            said.append(
                f"extended in {title}, until a time that cannot be read: {line.unread_extension!r}. Write "
                f"`{assignment} YYYY-MM-DD HH:MM` into the column extensions of {STUDENTS_FILE}, or the work may count "
                "as late"
            )
        if delivery.origin.late and moment.source != TIMES_FILE:
            said.append(late_without_time(title, student.id, assignment))
        due = self._due.get(assignment)
        if line and line.extended and due:
            end = line.extended.replace(tzinfo=self.zone)
            if due + self._course.written.extension(student.id, assignment) < end:
                until = f"{line.extended:%Y-%m-%d %H:%M}"
                said.append(
                    f"extended in {title} until {until}: write `{assignment} {until}` into the column extensions of "
                    f"{STUDENTS_FILE}, or the work may count as late"
                )
        return said
