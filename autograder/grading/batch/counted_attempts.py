"""Grading of the attempts that count, by the rules of an assignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..course.attempts import Attempt
from ..course.course import Course
from ..files.locks import locked
from ..gradebook.standings import student_standings
from ..rules.applied_rules import CourseRules
from ..rules.course_file import BEST, AssignmentRules
from ..submission.pipeline import Result, State
from .asking_again import keep_all, put_back, settle_requests
from .batch import grade
from .spent_late_days import update_penalties


def grade_counted(
    course: Course,
    assignment: str,
    executor: Executor,
    *,
    students: Sequence[str] = (),
    graded: Callable[[list[Result]], None] = lambda results: None,
    **options: Any,
) -> list[Result]:
    """Grade an assignment, with the attempts that count by its rules.

    Returns the result of every submission. If the best attempt counts, all attempts are graded one after the other.
    `graded` is called with the results after each round. The other parameters and the errors are those of `grade`.
    """
    rules = course.rules
    everybody = [folder.parent.name for folder in course.submissions(assignment)]
    chosen = [student for student in everybody if not students or student in students]
    if not rules.rules.of(assignment).chooses:
        put_back(course, assignment, chosen)
        results = grade(course, assignment, executor, students=students, **options)
        keep_all(course, assignment, [each.student for each in results if each.state is not State.FAILED])
        update_penalties(course, _changed(results), assignment)
        graded(results)
        return results
    submit_counted(course, assignment, chosen, rules)
    found: dict[str, Result] = {}
    tried: dict[str, set[str]] = {}
    pending = list(students)
    again = bool(options.get("force"))
    while True:
        results = grade(course, assignment, executor, students=pending, **options)
        found |= {each.student: each for each in results}
        _record_scores(course, assignment, results, tried)
        update_penalties(course, _changed(results), assignment)
        graded(results)
        pending = submit_counted(course, assignment, chosen, rules, tried, again=again)
        if not pending:
            return list(found.values())


def _changed(results: Sequence[Result]) -> list[str]:
    """Return the students whose grade a run has changed."""
    return [each.student for each in results if each.state not in (State.UNCHANGED, State.FAILED)]


def submit_counted(
    course: Course,
    assignment: str,
    students: Sequence[str],
    rules: CourseRules,
    tried: Mapping[str, AbstractSet[str]] | None = None,
    *,
    again: bool = False,
) -> list[str]:
    """Copy the attempt that counts into `submitted/`, for each of `students`. Returns the students whose files changed.

    `tried` maps students to the digests of attempts that were graded in this run. If `again` is True, scores of earlier
    runs do not count.
    """
    store, changed = course.attempts(assignment), []
    with locked(course.root, assignment):
        for student in students:
            if store.keep_submitted(student):
                settle_requests(course, assignment, student)
            done = (tried or {}).get(student, frozenset())
            attempts = store.of(student)
            if again:
                attempts = [each if each.digest in done else replace(each, score=None) for each in attempts]
            attempt = counted(attempts, rules, assignment, student, done)
            if attempt and store.submit(student, attempt):
                changed.append(student)
    return changed


def with_other_attempts(course: Course, assignment: str) -> list[str]:
    """Return the students who have attempts besides the one in `submitted/`, if the best attempt counts.

    If the latest attempt counts, the list is empty.
    """
    one, store = course.rules.rules.of(assignment), course.attempts(assignment)
    if one.counts != BEST:
        return []
    return [student for student in store.students() if len(within_limit(store.of(student), one)) > 1]


def forget_other_scores(course: Course, assignment: str, students: Sequence[str]) -> None:
    """Let the next grading run all attempts of `students` but those in `submitted/`, which were graded just now.

    An exercise was mended, so that stored scores are out of date. The scores of the other attempts are removed. The new
    scores of those in `submitted/` are copied from the gradebook.
    """
    store = course.attempts(assignment)
    with locked(course.root, assignment), course.gradebook() as gradebook:
        known = student_standings(gradebook.db, assignment)
        for student in students:
            store.forget_other_scores(student)
            if student in known:
                store.record_score(student, known[student].score)


def counted(
    attempts: Sequence[Attempt],
    rules: CourseRules,
    assignment: str,
    student: str,
    tried: AbstractSet[str] = frozenset(),
) -> Attempt | None:
    """Return the attempt that counts, or None if there is no attempt. `attempts` are ordered by time.

    If the best attempt counts, an attempt without a score comes first, so that it is graded. Attempts in `tried`, which
    holds digests, need not be graded. If all have scores, the attempt with the most points after late credit counts, of
    equal ones the earliest. Late days make no difference to this choice.
    """
    one = rules.rules.of(assignment)
    allowed = within_limit(attempts, one)
    if not allowed:
        return None
    if one.counts != BEST:
        return allowed[-1]
    for each in allowed:
        if each.score is None and each.digest not in tried:
            return each
    return max(allowed, key=lambda each: _points(each, rules, assignment, student))


def within_limit(attempts: Sequence[Attempt], one: AssignmentRules) -> list[Attempt]:
    """Return the attempts that may be graded: the first ones, as many as the rules `one` allow."""
    return list(attempts[: one.attempts or None])


def _points(attempt: Attempt, rules: CourseRules, assignment: str, student: str) -> float:
    """Return the points of an attempt after late credit, or −1 if it has no score."""
    if attempt.score is None:
        return -1.0
    one = rules.rules.of(assignment)
    if one.due is None or attempt.time is None:
        return attempt.score
    due = one.due + rules.extension(student, assignment)
    return attempt.score * one.credit(datetime.fromisoformat(attempt.time), due, rules.rules.zone) / 100


def _record_scores(course: Course, assignment: str, results: Sequence[Result], tried: dict[str, set[str]]) -> None:
    """Store the scores of the attempts that were just graded, and add them to `tried`."""
    store = course.attempts(assignment)
    with course.gradebook() as gradebook:
        known = student_standings(gradebook.db, assignment)
    for each in results:
        attempt = store.submitted(each.student)
        if attempt:
            tried.setdefault(each.student, set()).add(attempt.digest)
        if each.state is not State.FAILED and each.student in known:
            store.record_score(each.student, known[each.student].score)
