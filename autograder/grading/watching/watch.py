"""The steps from a submission's arrival to its feedback."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ...errors import UserError
from ...language import quantity
from ..batch.counted_attempts import grade_counted, within_limit
from ..collecting.archive import unpack
from ..collecting.collected_work import Account, CollectedWork
from ..course.course import Course
from ..feedback.exchange_pages import release_folder, release_pages
from ..feedback.pages import make_pages
from ..feedback.receipts import write_refusal
from ..files.atomic import describe_error, temporary_sibling
from ..files.locks import scratch_folder
from ..sandbox.grader.restarting_engine import NoForkServer
from ..submission.pipeline import Result, State
from ..terminal import printable
from ..wall_kinds import Wall
from .inbox import Inbox

_TOGETHER = 16  # entries: those that come after them would wait for too long
_RETRY = 10.0  # seconds after an error


class Watch:
    """The steps from a submission's arrival to its feedback: collect, grade, release.

    At most `ahead` submissions run or wait at a time. If `adds` is True, unknown people become students. `pending` maps
    assignments to the students whose submissions are to be graded.
    """

    def __init__(self, course: Course, executor: Executor, isolation: Wall | None, ahead: int, adds: bool) -> None:
        self._course, self._executor, self._adds = course, executor, adds
        self._options = {"isolation": isolation, "ahead": ahead}
        self._retry: dict[Path, float] = {}
        self._withheld: dict[str, dict[str, datetime]] = defaultdict(dict)
        # An earlier run may have been killed between collecting and grading.
        self.pending = {
            assignment: {folder.parent.name for folder in course.submissions(assignment)}
            for assignment in course.assignments()
        }
        self._unanswered = defaultdict(set, {name: set(course.attempts(name).students()) for name in self.pending})

    def attempt(self, place: Path, step: Callable[[], None]) -> None:
        """Call `step`, and print its error if there is one.

        `place` is the folder that the step works on. After an error, calls for the same `place` do nothing for some
        seconds.
        """
        if time.monotonic() < self._retry.get(place, 0.0):
            return
        self._course = self._course.reread()  # rules and students may have changed
        try:
            step()
        except NoForkServer:
            raise
        except (UserError, OSError) as error:
            why = error if isinstance(error, UserError) else describe_error(error, place)
            self._say(f"tried again in {_RETRY:g} s: {why}")
            self._retry[place] = time.monotonic() + _RETRY

    def look(self, inbox: Inbox) -> None:
        """Collect the submissions that have arrived in a folder, and mark their students as pending."""
        names = inbox.arrived()[:_TOGETHER]
        if names:
            self._take(inbox.folder, names)
            inbox.take(names)

    def grade_pending(self, assignment: str) -> None:
        """Grade the pending submissions of an assignment."""
        if students := self.pending[assignment]:
            self._grade(assignment, sorted(students))
            students.clear()

    def answer_refused(self) -> None:
        """Give receipts to students who have handed in more attempts than are graded."""
        for assignment, students in self._unanswered.items():
            for student in sorted(students):
                place = self._course.feedback(assignment, student)
                self.attempt(place, partial(self._answer, assignment, student))

    def give_withheld(self) -> None:
        """Make and release the feedback that was withheld until a time that has passed now."""
        for assignment, times in self._withheld.items():
            students = [student for student, until in times.items() if until <= datetime.now(UTC)]
            for student in students:
                del times[student]
            if students:
                self._give(assignment, students)

    def _take(self, folder: Path, names: Sequence[str]) -> None:
        with scratch_folder(self._course.root) as scratch:
            unpacked = unpack(folder, scratch, names)
            account = CollectedWork(self._course, (), self._adds).take(folder, unpacked, datetime.now(UTC))
        arrived: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for assignment, student, digest in account.arrived:
            arrived[assignment][student].append(digest)
        for assignment, by_student in arrived.items():
            for student, digests in by_student.items():
                self._unanswered[assignment].add(student)
                if self._is_allowed(assignment, student, digests):
                    self.pending.setdefault(assignment, set()).add(student)
        for line in _lines(account):
            self._say(line)

    def _is_allowed(self, assignment: str, student: str, digests: list[str]) -> bool:
        """Return whether one of a student's new attempts is to be graded."""
        one = self._course.rules.rules.of(assignment)
        allowed = within_limit(self._course.attempts(assignment).of(student), one)
        return any(each.digest in digests for each in allowed)

    def _answer(self, assignment: str, student: str) -> None:
        """Give a student receipts for attempts beyond the number of attempts to be graded, except where they exist."""
        store, one = self._course.attempts(assignment), self._course.rules.rules.of(assignment)
        attempts = store.of(student)
        for each in attempts[len(within_limit(attempts, one)) :]:
            if each.answered or not store.secret(student, each):
                continue
            with temporary_sibling(self._course.feedback(assignment, student).parent) as above:
                write_refusal(self._course, assignment, student, each, above / student / assignment)
                done = release_folder(self._course, assignment, student, above)
            if done.failed:
                raise UserError(f"{assignment}, {student}: no receipt: {'; '.join(done.failed.values())}")
            store.record_answer(student, each)
            self._say(f"{assignment}, {student}: receipt for attempt {attempts.index(each) + 1}, which is not graded")
        self._unanswered[assignment].discard(student)

    def _grade(self, assignment: str, students: list[str]) -> None:
        def give(results: list[Result]) -> None:
            self._give(assignment, [each.student for each in results if each.state is not State.FAILED])
            for each in results:
                if each.state is not State.UNCHANGED:
                    why = f": {'; '.join(each.said)}" if each.reasons else ""
                    self._say(f"{assignment}, {each.student}: {each.state}, {quantity(each.score or 0, 'point')}{why}")

        grade_counted(self._course, assignment, self._executor, students=students, graded=give, **self._options)

    def _give(self, assignment: str, students: list[str]) -> None:
        """Make feedback pages, and release those of students who submitted through the exchange."""
        pages = make_pages(self._course, assignment, students)
        self._withheld[assignment] |= pages.withheld
        done = release_pages(self._course, assignment, [each for each in students if each not in pages.failed])
        for student, why in pages.failed.items():
            self._say(f"{assignment}, {student}: no page: {why}")
        for language, why in done.failed.items():
            self._say(f"{assignment}: not released ({language}): {why}")

    def _say(self, line: str) -> None:
        """Print a line with the time in the course's time zone."""
        print(printable(f"{datetime.now(self._course.stated.zone):%H:%M:%S} {line}"), flush=True)


def _lines(account: Account) -> Iterator[str]:
    for student, lines in sorted(account.lines.items()):
        for line in lines:
            yield f"{student}: {line}"
    for file in account.unplaced:
        yield f"no place: {file.path}: {file.reason}"
