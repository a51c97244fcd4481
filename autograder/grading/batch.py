"""`autograder grade`: every submission of an assignment, on all cores, one outcome for each, nothing half done.

A draft of each is made in a thread; here they are written, one after another: the notebook into a folder beside its
place, the gradebook in one transaction, then the folder is moved there.
A run that is killed between any two of these steps leaves nothing that the next one does not do again, or need not.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from nbgrader.api import Gradebook

from ..errors import UserError
from .course.folders import (
    Record,
    describe_error,
    drop_record,
    locked,
    recorded,
    remove_leftovers,
    swap_in,
    temporary_sibling,
    write_result,
)
from .course.gradebook import Book, BookClosed
from .course.registration import register
from .course.remarks import Remarks, RemarksFolder
from .course.settings import CourseSettings
from .submission.answer_cells import unchanged_cells
from .submission.folder import read_submission
from .submission.grader import RestartingEngine
from .submission.pipeline import GradedSubmission, Pipeline, Result, fault
from .submission.sanitize import Unreadable, read

_LONG = 4.0  # seconds without a result, after which it is said whom it waits for


def grade(
    course: CourseSettings,
    assignment: str,
    standby: RestartingEngine,
    *,
    jobs: int,
    force: bool = False,
    students: Sequence[str] = (),
    seen: Callable[[Result, int], None] = lambda result, total: None,
    waits: Callable[[list[str]], None] = lambda students: None,
) -> list[Result]:
    """Grade the submissions of one assignment, `jobs` at a time; those that were graded before only with `force`.

    Only those of `students` if any are named. `seen` is told of each result, and how many there will be; `waits` of
    the students whose submissions run while none ends. Raises UserError when nothing can be graded: an unknown
    assignment, a gradebook that cannot be written, another grader at work; CannotIsolate.
    """
    with locked(course.root, assignment), open_book(course) as book:
        return list(Batch(course, assignment, standby, book).all(jobs, force, students, seen, waits))


class Batch:
    """The submissions of one assignment, and all that is needed to run them."""

    def __init__(self, course: CourseSettings, assignment: str, standby: RestartingEngine, book: Book) -> None:
        self._course, self._assignment, self._book = course, assignment, book
        try:
            book.try_to_write()
            if not book.has(assignment):
                register(course, assignment)
            self._released = book.released(assignment)
            self._known, self._due = book.standings(assignment), book.is_due(assignment)
        except BookClosed as closed:
            raise UserError(f"nothing was graded, the gradebook {course.db_url} cannot be used: {closed}") from closed
        self._remarks = RemarksFolder(course.root, assignment)
        self._drafts = Pipeline(course, assignment, standby, self._released, self._due)

    def all(
        self,
        jobs: int,
        force: bool,
        students: Sequence[str],
        seen: Callable[[Result, int], None],
        waits: Callable[[list[str]], None],
    ) -> Iterator[Result]:
        """Grade what has changed and write it. Yields the result of every submission."""
        submissions = self._course.submissions(self._assignment)
        if students:
            submissions = [folder for folder in submissions if folder.parent.name in students]
        for folder in submissions:
            remove_leftovers(self._place(folder.parent.name))
        changed: list[Path] = []
        for folder in submissions:
            if force or not self._unchanged(folder):
                changed.append(folder)
                continue
            result = self._keep(folder.parent.name)
            seen(result, len(submissions))
            yield result
        for draft in self.drafts(changed, jobs, waits):
            result = self._write(draft)
            seen(result, len(submissions))
            yield result

    def drafts(
        self, folders: list[Path], jobs: int, waits: Callable[[list[str]], None] = lambda students: None
    ) -> Iterator[GradedSubmission]:
        """Run submissions, `jobs` at a time, and write nothing. Raises UserError and CannotIsolate.

        `waits` is told of the students whose submissions run while none ends for some seconds.
        """
        if folders:
            self._drafts.prepare()
        # A thread and the child that it talks to take turns on one core: neither waits for another core to wake up, nor
        # reads from its cache. Not always the first ones: another grader may be at work, with few jobs like this one.
        mine = os.sched_getaffinity(0)
        waiting, cores = iter(folders), itertools.cycle(random.sample(sorted(mine), len(mine)))
        with ThreadPoolExecutor(jobs, initializer=lambda: os.sched_setaffinity(0, {next(cores)})) as pool:
            running: set[Future[GradedSubmission]] = set()
            while True:
                # No more than are needed to keep all busy: what is done and not written costs memory.
                for folder in waiting:
                    running.add(pool.submit(self._drafts.of, folder))
                    if len(running) >= 2 * jobs:
                        break
                if not running:
                    return
                done, running = wait(running, timeout=_LONG, return_when=FIRST_COMPLETED)
                if not done:
                    waits(list(self._drafts.running))
                yield from (each.result() for each in done)

    def _place(self, student: str) -> Path:
        return self._course.autograded(self._assignment, student)

    def _unchanged(self, folder: Path) -> bool:
        """Was it graded before, from the same files?"""
        student = folder.parent.name
        if student not in self._known or self._remarks.read(student).failed:
            return False
        try:
            found = read_submission(folder, self._released, self._course.ignore, self._due)
            return recorded(self._place(student)).submitted == found.digest
        except (Unreadable, OSError):
            return False

    # ----------------------------------------------------------------------------------------------------- writing

    def _keep(self, student: str) -> Result:
        """Leave a submission as it was graded, but let it owe what being late costs now."""
        known = self._known[student]
        remarks = self._remarks.read(student)
        reasons = remarks.everything if known.flagged else []
        result = Result(student, "unchanged", known.score, reasons, notes=remarks.notes)
        try:
            if (known.late or known.penalty) and self._book.update_penalty(self._assignment, student):
                result.state = "updated"
        except BookClosed as error:
            result.state, result.reasons = "failed", [f"the gradebook cannot be written: {error}", *result.reasons]
        except Exception as error:  # a course's own late penalty
            result.state, result.reasons = "failed", [fault(error), *result.reasons]
        return result

    def _write(self, draft: GradedSubmission) -> Result:
        result = draft.result
        if result.state != "failed":
            result = self._write_graded(draft)
        if result.state == "failed":
            with contextlib.suppress(OSError):  # the disk may be full: the result says so
                self._remarks.write(result.student, Remarks({"": result.reasons}, result.notes, failed=True))
        return result

    def _write_graded(self, draft: GradedSubmission) -> Result:
        result, place = draft.result, self._place(draft.result.student)
        try:
            with temporary_sibling(place) as folder:
                source = self._course.source(self._assignment)
                record = Record(draft.digest, draft.renamed)
                write_result(folder, draft.files, source, self._course.ignore, draft.notebooks, record)
                drop_record(place)  # if this ends between the gradebook and the folder, the next run does it again
                self._compare(draft, place)
                flags = self._flags(result.student, draft.remarks)
                score = self._book.write(self._assignment, result.student, draft.timestamp, draft.scores, flags)
                self._remarks.write(result.student, draft.remarks)
                swap_in(place, folder)
                result.score = score
                result.notes = [*result.notes, *self._kept_by_hand(result.student)]
                return result
        except BookClosed as error:
            why = f"the gradebook cannot be written: {error}"
        except OSError as error:
            why = describe_error(error, place)
        except Exception as error:  # a course's own late penalty, say: the others are written
            why = fault(error)
        result.state, result.reasons = "failed", [why, *result.reasons]
        return result

    def _kept_by_hand(self, student: str) -> list[str]:
        """Return a note for this run when a submission was graded again after a person had given points."""
        known = self._known.get(student)
        if not known or not known.by_hand:
            return []
        waits = "; what waited for a person still does" if known.waiting else ""
        return [f"graded again: points and comments given by hand are kept{waits}"]

    def _flags(self, student: str, remarks: Remarks) -> dict[str, bool]:
        """Return which notebooks formgrader is to show as flagged. A flag that only a person has set stays."""
        ours = bool(self._remarks.read(student).everything)
        flags = {}
        for name in self._released:
            if remarks.reasons.get("") or remarks.reasons.get(name):
                flags[name] = True
            elif ours:
                flags[name] = False
        return flags

    def _compare(self, draft: GradedSubmission, place: Path) -> None:
        """Find out which answers a person has graded already, as they are."""
        known = self._known.get(draft.result.student)
        for name, scores in draft.scores.items() if known and known.by_hand else ():
            with contextlib.suppress(Unreadable):
                scores.same = unchanged_cells(read(place / f"{name}.ipynb"), draft.notebooks[name])


@contextlib.contextmanager
def open_book(course: CourseSettings) -> Iterator[Book]:
    """Open a course's gradebook for grading. Raises UserError."""
    with open_gradebook(course) as gradebook:
        yield Book(gradebook, course.late_penalty)


@contextlib.contextmanager
def open_gradebook(course: CourseSettings) -> Iterator[Gradebook]:
    """Open a course's gradebook. Raises UserError."""
    try:
        gradebook = Gradebook(course.db_url, course.course_id)
    except Exception as error:  # SQLAlchemy's and alembic's, of many kinds
        raise UserError(f"{course.db_url} cannot be opened: {error}") from error
    with gradebook:
        yield gradebook
