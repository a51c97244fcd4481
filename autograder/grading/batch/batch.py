"""The command `autograder grade`: all submissions of an assignment, on all cores.

An executor runs the submissions. This module writes each result in three steps:
- write the graded notebook to a temporary folder;
- update the gradebook in one transaction;
- move the folder into place.
The grader may be killed between any two steps. The next run of the command then repeats the missing steps.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ...errors import UserError
from ...messages.reasons import make_reason
from ..course.course import Course
from ..course.graded_folder import Record, drop_record, recorded, write_result
from ..course.grading_data import AssignmentSnapshot, CourseSnapshot
from ..course.registration import is_registered, register
from ..course.remarks import Remarks
from ..files.atomic import describe_error, remove_leftovers, swap_in, temporary_sibling
from ..files.locks import locked
from ..files.notebook_file import Unreadable, read_notebook
from ..gradebook.book import Book, BookClosed
from ..requests.found import find_requests, time_of
from ..rules.late_penalty import describe_change
from ..submission.handed_in import read_submission
from ..submission.pipeline import GradedSubmission, Result, State, fault, grade_submission, prepare_grader
from ..wall_kinds import Wall
from .unchanged_answers import unchanged_cells

_LONG = 4.0  # seconds without a result before the running students are reported


@contextlib.contextmanager
def core_threads(jobs: int) -> Iterator[Executor]:
    """Yield, as a context manager, an executor with `jobs` threads, each on one core.

    A thread and its child take turns on the same core. The thread never waits for another core to wake up.
    """
    mine = os.sched_getaffinity(0)
    cores = itertools.cycle(random.sample(sorted(mine), len(mine)))  # other graders with few jobs may be running
    with ThreadPoolExecutor(jobs, initializer=lambda: os.sched_setaffinity(0, {next(cores)})) as executor:
        yield executor


def grade(
    course: Course,
    assignment: str,
    executor: Executor,
    *,
    isolation: Wall | None = None,
    ahead: int,
    force: bool = False,
    students: Sequence[str] = (),
    seen: Callable[[Result, int], None] = lambda result, total: None,
    waits: Callable[[list[str]], None] = lambda students: None,
) -> list[Result]:
    """Grade the submissions of one assignment on `executor`. Returns the result of every submission.

    `isolation` overrides the course's setting. At most `ahead` submissions run
    or wait to be written at a time. If `force` is False, unchanged submissions with an earlier grade are not run again.
    If `students` is not empty, only the submissions of these students are graded.
    `seen` is called for each submission, with its result and the total number of submissions. If no submission ends for
    some seconds, `waits` is called with the students whose submissions are running.
    Raises UserError if nothing can be graded: an unknown assignment, a read-only gradebook, another running grader.
    Raises CannotIsolate if the kernel refuses isolation.
    """
    with locked(course.root, assignment), course.locked_book(assignment) as book:
        results = list(Batch(course, assignment, isolation, book).all(executor, ahead, force, students, seen, waits))
        with contextlib.suppress(BookClosed):  # the next run tries again
            book.add_names({each.id: each.name for each in course.roster.students})
        return results


class Batch:
    """A run of the grader on one assignment: submissions, gradebook, remarks."""

    def __init__(self, course: Course, assignment: str, isolation: Wall | None, book: Book) -> None:
        self._course, self._assignment, self._book = course, assignment, book
        try:
            book.try_to_write()
            if not is_registered(course, book, assignment):
                register(course, assignment)
            self._assignment_snapshot = AssignmentSnapshot.of(course, book, assignment)
            self._known = book.standings(assignment)
        except BookClosed as closed:
            raise UserError(
                f"nothing was graded, the gradebook {course.shown_db_url} cannot be used: {closed}"
            ) from closed
        self._remarks = course.remarks(assignment)
        self._requests = course.requests(assignment)
        self._course_snapshot = CourseSnapshot.of(course, isolation)

    def all(
        self,
        executor: Executor,
        ahead: int,
        force: bool,
        students: Sequence[str],
        seen: Callable[[Result, int], None],
        waits: Callable[[list[str]], None],
    ) -> Iterator[Result]:
        """Grade new and changed submissions, and write the results. Yields the result of every submission.

        An unchanged submission keeps its earlier grade. The parameters are those of `grade`.
        """
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
        for graded in self.run(changed, executor, ahead, waits):
            result = self._write(graded)
            seen(result, len(submissions))
            yield result

    def run(
        self,
        folders: list[Path],
        executor: Executor,
        ahead: int,
        waits: Callable[[list[str]], None] = lambda students: None,
    ) -> Iterator[GradedSubmission]:
        """Run the submissions in `folders`, and write nothing.

        Yields each graded submission when its run ends. At most `ahead` submissions run or wait for the caller
        at a time. If no submission ends for some seconds, `waits` is called with the students whose submissions
        are running.
        Raises UserError if nothing can be graded, CannotIsolate if the kernel refuses isolation.
        """
        data = self._course_snapshot, self._assignment_snapshot
        if folders:
            executor.submit(prepare_grader, *data, [folder.parent.name for folder in folders]).result()
        waiting, running = iter(folders), dict[Future[GradedSubmission], str]()
        while True:
            for folder in itertools.islice(waiting, ahead - len(running)):  # unwritten results cost memory
                running[executor.submit(grade_submission, *data, folder)] = folder.parent.name
            if not running:
                return
            done, _ = wait(running, timeout=_LONG, return_when=FIRST_COMPLETED)
            if not done:
                waits([student for future, student in running.items() if future.running()])
            for future in done:
                del running[future]
                yield future.result()

    def _place(self, student: str) -> Path:
        """Return the folder in which a student's graded submission is stored."""
        return self._course.autograded(self._assignment, student)

    def _unchanged(self, folder: Path) -> bool:
        """Return whether the submission in `folder` has a grade, and its files have not changed since."""
        student, assignment = folder.parent.name, self._assignment_snapshot
        if student not in self._known or self._remarks.read(student).failed:
            return False
        try:
            released = assignment.released_to(student)
            found = read_submission(folder, released, self._course.ignore, assignment.due)
            return recorded(self._place(student)).submitted == found.digest
        except (Unreadable, OSError):
            return False

    # ----------------------------------------------------------------------------------------------------- writing

    def _keep(self, student: str) -> Result:
        """Keep a submission's earlier grade, but update its late penalty.

        Returns the submission's result, with the earlier score and remarks.
        """
        known = self._known[student]
        remarks = self._remarks.read(student)
        reasons, places = (remarks.everything, remarks.seen) if known.flagged else ([], [])
        result = Result(student, State.UNCHANGED, known.score, reasons, notes=remarks.notes, places=places)
        try:
            if known.late or known.penalty:
                before, after = self._book.update_penalty(self._assignment, student)
                if abs(after - before) > 1e-9:
                    result.state, result.notes = State.UPDATED, [*result.notes, describe_change(before, after)]
        except BookClosed as error:
            result.state, result.reasons = State.FAILED, [make_reason("no_gradebook", why=str(error)), *result.reasons]
        except Exception as error:  # in a course's own late penalty
            result.state, result.reasons = State.FAILED, [fault(error), *result.reasons]
        return result

    def _write(self, graded: GradedSubmission) -> Result:
        """Write a submission's grade. If grading failed, write only the reasons.

        Returns the updated result.
        """
        result = graded.result
        with contextlib.suppress(OSError):  # the command `autograder requests` looks again
            folder = self._course.submitted(self._assignment, result.student)
            self._requests.add(result.student, find_requests(folder), time_of(folder))
        if result.state is not State.FAILED:
            result = self._write_graded(graded)
        if result.state is State.FAILED:
            with contextlib.suppress(OSError):  # the disk may be full: the result reports it
                self._remarks.write(result.student, Remarks({"": result.reasons}, result.notes, failed=True))
        return result

    def _write_graded(self, graded: GradedSubmission) -> Result:
        """Write a graded submission: a temporary folder, then the gradebook, then the final folder.

        Returns the updated result. If writing fails, the result has the state `FAILED` and a reason.
        """
        result, place = graded.result, self._place(graded.result.student)
        try:
            with temporary_sibling(place) as folder:
                source = self._course.source(self._assignment)
                record = Record(graded.digest, graded.renamed)
                write_result(folder, graded.files, source, self._course.ignore, graded.notebooks, record)
                drop_record(place)  # if this run dies before the folder is moved, the next one grades again
                self._compare(graded, place)
                earlier = self._remarks.read(result.student)
                flags = {name: graded.remarks.flag(name, earlier) for name in self._assignment_snapshot.released}
                score = self._book.write(self._assignment, result.student, graded.timestamp, graded.scores, flags)
                self._remarks.write(result.student, graded.remarks)
                swap_in(place, folder)
                result.score = score
                result.notes = [*result.notes, *self._kept_by_hand(result.student)]
                return result
        except BookClosed as error:
            why = make_reason("no_gradebook", why=str(error))
        except OSError as error:
            why = make_reason("text", text=describe_error(error, place))
        except Exception as error:  # for example in a course's own late penalty: the others are written
            why = fault(error)
        result.state, result.reasons = State.FAILED, [why, *result.reasons]
        return result

    def _kept_by_hand(self, student: str) -> list[str]:
        """Return a list with one note that manual grades were kept, or an empty list.

        The list is empty if the student has no manual grades.
        """
        known = self._known.get(student)
        if not known or not known.by_hand:
            return []
        waits = "; what waited for a person still does" if known.waiting else ""
        return [f"graded again: points and comments given by hand are kept{waits}"]

    def _compare(self, graded: GradedSubmission, place: Path) -> None:
        """Find the manually graded answers that have not changed since the earlier grading.

        The folder `place` holds the notebooks of the earlier grading. The grade ids of unchanged answers are stored in
        `graded.scores`.
        """
        known = self._known.get(graded.result.student)
        for name, scores in graded.scores.items() if known and known.by_hand else ():
            with contextlib.suppress(Unreadable):
                scores.same = unchanged_cells(read_notebook(place / f"{name}.ipynb"), graded.notebooks[name])
