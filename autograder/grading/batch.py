"""The command `autograder grade`: all submissions of an assignment, on all cores.

Threads run the submissions; the results are written here, one at a time. The notebook is written to a temporary folder.
Then the gradebook is updated in one transaction, and the folder is moved into place. A run may be killed between any
two of these steps: the next run repeats the missing ones.
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

_LONG = 4.0  # seconds without a result before the running students are reported


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
    """Grade the submissions of one assignment, `jobs` at a time.

    Submissions graded before are skipped without `force`. `students` restricts the submissions if it is not empty.
    `seen` is called with each result and the total number. `waits` is called with the students whose submissions are
    running while none ends.
    Raises UserError if nothing can be graded: an unknown assignment, a read-only gradebook, another running grader.
    Raises CannotIsolate if the kernel refuses isolation.
    """
    with locked(course.root, assignment), open_book(course) as book:
        return list(Batch(course, assignment, standby, book).all(jobs, force, students, seen, waits))


class Batch:
    """The submissions of one assignment, and everything needed to run them."""

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
        """Grade and write changed submissions. Yields the result of every submission."""
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
        """Run submissions, `jobs` at a time, without writing. Raises UserError and CannotIsolate.

        `waits` is called with the students whose submissions are running while none ends for some seconds.
        """
        if folders:
            self._drafts.prepare()
        # A thread and its child take turns on one core: neither waits for another core to wake up or reads another
        # core's cache. The order is random because other graders with few jobs may be running.
        mine = os.sched_getaffinity(0)
        waiting, cores = iter(folders), itertools.cycle(random.sample(sorted(mine), len(mine)))
        with ThreadPoolExecutor(jobs, initializer=lambda: os.sched_setaffinity(0, {next(cores)})) as pool:
            running: set[Future[GradedSubmission]] = set()
            while True:
                # Keep all threads busy, but no more: unwritten results cost memory.
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
        """Return whether a submission was graded before, from the same files."""
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
        """Keep a submission as graded, but update its late penalty."""
        known = self._known[student]
        remarks = self._remarks.read(student)
        reasons = remarks.everything if known.flagged else []
        result = Result(student, "unchanged", known.score, reasons, notes=remarks.notes)
        try:
            if (known.late or known.penalty) and self._book.update_penalty(self._assignment, student):
                result.state = "updated"
        except BookClosed as error:
            result.state, result.reasons = "failed", [f"the gradebook cannot be written: {error}", *result.reasons]
        except Exception as error:  # in a course's own late penalty
            result.state, result.reasons = "failed", [fault(error), *result.reasons]
        return result

    def _write(self, draft: GradedSubmission) -> Result:
        result = draft.result
        if result.state != "failed":
            result = self._write_graded(draft)
        if result.state == "failed":
            with contextlib.suppress(OSError):  # the disk may be full: the result reports it
                self._remarks.write(result.student, Remarks({"": result.reasons}, result.notes, failed=True))
        return result

    def _write_graded(self, draft: GradedSubmission) -> Result:
        result, place = draft.result, self._place(draft.result.student)
        try:
            with temporary_sibling(place) as folder:
                source = self._course.source(self._assignment)
                record = Record(draft.digest, draft.renamed)
                write_result(folder, draft.files, source, self._course.ignore, draft.notebooks, record)
                drop_record(place)  # if this run dies before the folder is moved, the next one grades again
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
        except Exception as error:  # for example in a course's own late penalty: the others are written
            why = fault(error)
        result.state, result.reasons = "failed", [why, *result.reasons]
        return result

    def _kept_by_hand(self, student: str) -> list[str]:
        """Return a note if a submission with manual grades was graded again."""
        known = self._known.get(student)
        if not known or not known.by_hand:
            return []
        waits = "; what waited for a person still does" if known.waiting else ""
        return [f"graded again: points and comments given by hand are kept{waits}"]

    def _flags(self, student: str, remarks: Remarks) -> dict[str, bool]:
        """Return formgrader's flag by notebook. A flag that only an instructor has set is kept."""
        ours = bool(self._remarks.read(student).everything)
        flags = {}
        for name in self._released:
            if remarks.reasons.get("") or remarks.reasons.get(name):
                flags[name] = True
            elif ours:
                flags[name] = False
        return flags

    def _compare(self, draft: GradedSubmission, place: Path) -> None:
        """Find the answers that were graded manually and have not changed since."""
        known = self._known.get(draft.result.student)
        for name, scores in draft.scores.items() if known and known.by_hand else ():
            with contextlib.suppress(Unreadable):
                scores.same = unchanged_cells(read(place / f"{name}.ipynb"), draft.notebooks[name])


@contextlib.contextmanager
def open_book(course: CourseSettings) -> Iterator[Book]:
    """Open a course's gradebook for grading. Raises UserError if it cannot be opened."""
    with open_gradebook(course) as gradebook:
        yield Book(gradebook, course.late_penalty)


@contextlib.contextmanager
def open_gradebook(course: CourseSettings) -> Iterator[Gradebook]:
    """Open a course's gradebook. Raises UserError if it cannot be opened."""
    try:
        gradebook = Gradebook(course.db_url, course.course_id)
    except Exception as error:  # many kinds of exceptions from SQLAlchemy and alembic
        raise UserError(f"{course.db_url} cannot be opened: {error}") from error
    with gradebook:
        yield gradebook
