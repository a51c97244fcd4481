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
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from ..authoring.source import Broken
from .drafts import Draft, Drafts, Result, fault
from .gradebook import Book, BookClosed
from .handed_in import handed_in
from .places import alone, beside, fill, forget, recorded, replace, said, sweep
from .sanitize import Unreadable
from .settings import CourseSettings
from .standby import Standby


def grade(
    course: CourseSettings,
    assignment: str,
    standby: Standby,
    *,
    jobs: int,
    force: bool = False,
    seen: Callable[[Result, int], None] = lambda result, total: None,
) -> list[Result]:
    """Grade the submissions of one assignment, `jobs` at a time; those that were graded before only with `force`.

    `seen` is told of each result, and how many there will be. Raises Broken when nothing can be graded: an unknown
    assignment, a gradebook that cannot be written, another grader at work; CannotIsolate.
    """
    with alone(course.root, assignment), open_book(course) as book:
        return list(Batch(course, assignment, standby, book).all(jobs, force, seen))


class Batch:
    """The submissions of one assignment, and all that is needed to run them."""

    def __init__(self, course: CourseSettings, assignment: str, standby: Standby, book: Book) -> None:
        self._course, self._assignment, self._book = course, assignment, book
        try:
            book.try_to_write()
            self._released = book.released(assignment)
            self._known = book.graded(assignment)
        except MissingEntry as missing:
            raise Broken(
                f"the gradebook has no assignment {assignment}: run `nbgrader generate_assignment {assignment}` first"
            ) from missing
        except BookClosed as closed:
            raise Broken(f"nothing was graded, the gradebook {course.db_url} cannot be used: {closed}") from closed
        self._drafts = Drafts(course, assignment, standby, self._released)

    def all(self, jobs: int, force: bool, seen: Callable[[Result, int], None]) -> Iterator[Result]:
        submissions = self._course.submissions(self._assignment)
        for folder in submissions:
            sweep(self._place(folder.parent.name))
        changed: list[Path] = []
        for folder in submissions:
            if force or not self._unchanged(folder):
                changed.append(folder)
                continue
            result = Result(folder.parent.name, "unchanged")
            seen(result, len(submissions))
            yield result
        for draft in self.drafts(changed, jobs):
            result = self._write(draft)
            seen(result, len(submissions))
            yield result

    def drafts(self, folders: list[Path], jobs: int) -> Iterator[Draft]:
        """Run submissions, `jobs` at a time, and write nothing. Raises Broken and CannotIsolate."""
        if folders:
            self._drafts.prepare()
        # A thread and the child that it talks to take turns on one core: neither waits for another core to wake up, nor
        # reads from its cache. Not always the first ones: another grader may be at work, with few jobs like this one.
        mine = os.sched_getaffinity(0)
        waiting, cores = iter(folders), itertools.cycle(random.sample(sorted(mine), len(mine)))
        with ThreadPoolExecutor(jobs, initializer=lambda: os.sched_setaffinity(0, {next(cores)})) as pool:
            running: set[Future[Draft]] = set()
            while True:
                # No more than are needed to keep all busy: what is done and not written costs memory.
                for folder in waiting:
                    running.add(pool.submit(self._drafts.of, folder))
                    if len(running) >= 2 * jobs:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)

    def _place(self, student: str) -> Path:
        return self._course.autograded(self._assignment, student)

    def _unchanged(self, folder: Path) -> bool:
        """Was it graded before, from the same files?"""
        student = folder.parent.name
        try:
            found = handed_in(folder, self._released, self._course.ignore)
            return student in self._known and recorded(self._place(student)) == found.digest
        except (Unreadable, OSError):
            return False

    # ----------------------------------------------------------------------------------------------------- writing

    def _write(self, draft: Draft) -> Result:
        result, place = draft.result, self._place(draft.result.student)
        if result.state == "failed":
            return result
        try:
            with beside(place) as folder:
                source = self._course.source(self._assignment)
                fill(folder, draft.files, source, self._course.ignore, draft.notebooks, submitted=draft.digest)
                forget(place)  # if this ends between the gradebook and the folder, the next run does it again
                score = self._book.write(self._assignment, result.student, draft.timestamp, draft.scores)
                replace(place, folder)
                result.score = score
                return result
        except BookClosed as error:
            why = f"the gradebook cannot be written: {error}"
        except OSError as error:
            why = said(error, place)
        except Exception as error:  # a course's own late penalty, say: the others are written
            why = fault(error)
        result.state, result.reasons = "failed", [why, *result.reasons]
        return result


@contextlib.contextmanager
def open_book(course: CourseSettings) -> Iterator[Book]:
    try:
        gradebook = Gradebook(course.db_url, course.course_id)
    except Exception as error:  # SQLAlchemy's and alembic's, of many kinds
        raise Broken(f"{course.db_url} cannot be opened: {error}") from error
    with gradebook:
        yield Book(gradebook, course.late_penalty)
