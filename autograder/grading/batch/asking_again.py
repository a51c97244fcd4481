"""Attempts that only ask to look again.

Such an attempt has the same answers as an earlier one, and counts as that one. A student asks after the due date:
grade, late days and number of attempts must not change by that. So the attempt is kept, but never graded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from ..course.attempts import Attempt, AttemptStore
from ..course.course import Course
from ..files.locks import locked
from ..requests.found import find_requests
from ..requests.same_answers import Answers, answers_in

_LARGEST = 100 << 20  # bytes of a submission that is kept although no rule needs its attempts


def settle_requests(course: Course, assignment: str, student: str) -> None:
    """Find which attempts of a student only ask to look again, and store their requests.

    The caller must hold the assignment's lock.
    """
    store, requests = course.attempts(assignment), course.requests(assignment)
    earlier: list[Attempt] = []
    for attempt in store.all_of(student):
        texts = [*find_requests(store.folder(student, attempt))] if earlier else []
        about = _with_same_answers(course, store, student, attempt, earlier) if texts else ""
        if about != attempt.about:
            store.record_about(student, attempt, about)
        if about:
            requests.add(student, texts, attempt.time or "")
        else:
            earlier.append(attempt)


def put_back(course: Course, assignment: str, students: Sequence[str]) -> None:
    """Put an earlier attempt back into `submitted/`, where nbgrader has replaced it by one that only asks.

    Raises UserError if a grader is at work.
    """
    store = course.attempts(assignment)
    with locked(course.root, assignment):
        for student in students:
            with contextlib.suppress(OSError):
                if not store.of(student):
                    continue
                now = store.submitted(student)
                if now is None and any(find_requests(course.submitted(assignment, student))):
                    _keep(course, store, assignment, student)
                    now = store.submitted(student)
                if now and now.about:
                    store.submit(student, store.of(student)[-1])


def keep_all(course: Course, assignment: str, students: Sequence[str]) -> None:
    """Keep what is in `submitted/` as attempts, so that later ones can be compared with them.

    A disk that is full is no error: grades are written already.
    """
    with locked(course.root, assignment):
        for student in students:
            with contextlib.suppress(OSError):
                _keep(course, course.attempts(assignment), assignment, student)


def _keep(course: Course, store: AttemptStore, assignment: str, student: str) -> None:
    if store.submitted_size(student) <= _LARGEST and store.keep_submitted(student):
        settle_requests(course, assignment, student)


def describe_requests(course: Course, assignment: str) -> Iterator[tuple[str, str]]:
    """Yield student and sentence for each open request with the same answers as an earlier attempt."""
    store = course.attempts(assignment)
    waiting = {one.student for one in course.requests(assignment).open()}
    for student in sorted(waiting.intersection(store.students())):
        attempts = {attempt.digest: attempt for attempt in store.all_of(student)}
        about = {each.about for each in attempts.values() if each.about}
        for digest in sorted(about & attempts.keys()):
            yield student, describe_request(course, attempts[digest])


def describe_request(course: Course, about: Attempt) -> str:
    """Return what a request with the same answers counts as. `about` is the earlier attempt."""
    said = "asks to look again with the same answers: counts as"
    if about.time is None:
        return f"{said} the attempt it is about"
    time = datetime.fromisoformat(about.time).astimezone(course.stated.zone)
    return f"{said} handed in {time:%Y-%m-%d %H:%M}, with the attempt it is about"


def _with_same_answers(
    course: Course, store: AttemptStore, student: str, attempt: Attempt, earlier: Sequence[Attempt]
) -> str:
    """Return the digest of the latest of the `earlier` attempts with the same answers as `attempt`, or ""."""

    def answers(one: Attempt) -> Answers:
        above = store.folder(student, one)
        files = {path.relative_to(above).as_posix(): path for path in store.files(student, one)}
        return answers_in(files, course.ignore)

    mine = answers(attempt)
    return next((each.digest for each in reversed(earlier) if answers(each) == mine), "")
