"""The command `autograder watch`: submissions graded on arrival, with feedback."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path

from ...errors import UserError
from ..batch import core_threads
from ..collecting.archive import unpack
from ..collecting.attempts import AttemptStore
from ..collecting.collection import Account, Collection
from ..collecting.counted_attempts import grade_counted, within_limit
from ..course.folders import describe_error, temporary_sibling
from ..course.settings import CourseSettings, course_settings
from ..feedback.pages import make_pages
from ..feedback.receipts import write_refusal
from ..feedback.release import release_folder, release_pages
from ..graders import open_graders
from ..interrupt import Interrupt
from ..rules.applied_rules import current_rules
from ..rules.command import follow_rules
from ..sandbox.fork_server_process import ForkServerProcess
from ..sandbox.restarting_engine import NoForkServer
from ..submission.pipeline import Result
from ..summary import printable
from ..tables.roster import FILE
from .inbox import Inbox, inboxes

_PAUSE = 0.5  # seconds between two looks at the folders
_TOGETHER = 16  # entries: those that come after them would wait for too long
_RETRY = 10.0  # seconds after an error


def watch_course(
    root: Path,
    folders: list[Path],
    starting: ForkServerProcess,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: str | None,
    add: bool,
) -> int:
    """Grade the submissions that arrive in `folders`, or in nbgrader's exchange, until Ctrl+C.

    Unknown people are added to `students.csv` if `add` is True or there is no such file yet. `starting` is a fork
    server whose process has been started. `jobs` and `isolation` are options of the command.
    Raises UserError with the remedy if nothing can be watched.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    course = course_settings(root)
    watched = inboxes(course, folders)
    interrupt.kept = "what was graded stays, and the same command goes on from there"
    for line in follow_rules(course):
        print(printable(line))
    jobs = jobs or len(os.sched_getaffinity(0))
    with open_graders(course, isolation, starting), core_threads(jobs) as executor:
        watch = Watch(course, executor, isolation, 2 * jobs, add or not (course.root / FILE).exists())
        print(f"watching {', '.join(str(each.folder) for each in watched)}; Ctrl+C ends it", flush=True)
        while True:
            for inbox in watched:
                watch.look(inbox)
            watch.give_withheld()
            time.sleep(_PAUSE)


class Watch:
    """The steps of a submission on its way: collect, grade, feedback, release."""

    def __init__(
        self, course: CourseSettings, executor: Executor, isolation: str | None, ahead: int, adds: bool
    ) -> None:
        self._course, self._executor, self._adds = course, executor, adds
        self._options = {"isolation": isolation, "ahead": ahead}
        self._withheld: dict[str, dict[str, datetime]] = defaultdict(dict)

    def look(self, inbox: Inbox) -> None:
        """Grade what has arrived in a folder. After an error it is tried again later."""
        try:
            names = inbox.arrived()[:_TOGETHER]
            if names:
                self._take(inbox.folder, names)
                inbox.take(names)
        except NoForkServer:
            raise
        except UserError as error:
            _say(f"tried again in {_RETRY:g} s: {error}")
            time.sleep(_RETRY)
        except OSError as error:
            _say(f"tried again in {_RETRY:g} s: {describe_error(error, inbox.folder)}")
            time.sleep(_RETRY)

    def give_withheld(self) -> None:
        """Give the feedback whose time has come."""
        for assignment, times in self._withheld.items():
            students = [student for student, until in times.items() if until <= datetime.now(UTC)]
            for student in students:
                del times[student]
            if students:
                self._give(assignment, students)

    def _take(self, folder: Path, names: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(dir=self._course.root / ".autograder", prefix="watch-") as scratch:
            unpacked = unpack(folder, Path(scratch), names)
            account = Collection(self._course, None, self._adds).take(folder, unpacked, datetime.now(UTC))
        for line in _lines(account):
            _say(line)
        arrived: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for assignment, student, digest in account.arrived:
            arrived[assignment][student].append(digest)
        for assignment, by_student in arrived.items():
            graded = [student for student, digests in by_student.items() if self._graded(assignment, student, digests)]
            if graded:
                self._grade(assignment, graded)

    def _graded(self, assignment: str, student: str, digests: list[str]) -> bool:
        """Return whether one of a student's new attempts is to be graded. The others get a receipt."""
        store, one = AttemptStore(self._course, assignment), current_rules(self._course.root).rules.of(assignment)
        attempts = store.of(student)
        allowed = within_limit(attempts, one)
        for each in attempts:
            if each.digest in digests and each not in allowed and store.secret(student, each):
                feedback = self._course.feedback(assignment, student)
                with temporary_sibling(feedback.parent) as above:
                    folder = above / student / assignment
                    write_refusal(self._course, assignment, student, each, folder)
                    release_folder(self._course, assignment, student, above)
        return any(each.digest in digests for each in allowed)

    def _grade(self, assignment: str, students: list[str]) -> None:
        def give(results: list[Result]) -> None:
            for each in results:
                why = f": {'; '.join(each.reasons)}" if each.reasons else ""
                _say(f"{assignment}, {each.student}: {each.state}, {each.score or 0:g} points{why}")
            self._give(assignment, [each.student for each in results if each.state != "failed"])

        grade_counted(self._course, assignment, self._executor, students=students, graded=give, **self._options)

    def _give(self, assignment: str, students: list[str]) -> None:
        """Make feedback pages, and release those of students who submitted through the exchange."""
        pages = make_pages(self._course, assignment, students)
        self._withheld[assignment] |= pages.withheld
        done = release_pages(self._course, assignment, [each for each in students if each not in pages.failed])
        for student, why in pages.failed.items():
            _say(f"{assignment}, {student}: no page: {why}")
        for language, why in done.failed.items():
            _say(f"{assignment}: not released ({language}): {why}")


def _lines(account: Account) -> Iterator[str]:
    for student, lines in sorted(account.lines.items()):
        for line in lines:
            yield f"{student}: {line}"
    for file in account.unplaced:
        yield f"no place: {file.path}: {file.reason}"


def _say(line: str) -> None:
    print(printable(f"{datetime.now():%H:%M:%S} {line}"), flush=True)
