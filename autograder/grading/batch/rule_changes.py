"""Changes of a course's rules, and what they do to grades."""

from __future__ import annotations

from collections.abc import Iterator

from ..course.course import Course
from ..rules.applied_rules import CourseRules, PenaltyChange, compare
from ..rules.course_file import BEST, RULES_FILE, Rules
from ..rules.late_penalty import describe_change
from .counted_attempts import counted


def follow_rules(course: Course) -> list[str]:
    """Apply the rules in the files of the course, unless a grade would change. In that case nothing is applied.

    Returns lines for the terminal: what would change, and how to apply it. Without a change the list is empty.
    Raises UserError if a rule is wrong.
    """
    new, old = course.written, course.applied
    if new == old or (old is None and not new.text):
        return []
    changes = list_changes(course, new)
    if not changes:
        course.apply(new)
        return []
    return [
        f"{RULES_FILE} or students.csv has changed. It was not applied, because grades would change:",
        *(f"  {change}" for change in changes),
        "`autograder course DIR --apply` applies it",
    ]


def list_changes(course: Course, new: CourseRules) -> list[str]:
    """Return a sentence for each late penalty and each counted attempt that the rules `new` would change."""
    old = course.applied or CourseRules(Rules(), {})
    with course.gradebook() as gradebook:
        lines = [_describe(change) for change in compare(gradebook.db, old, new)]
    return [*lines, *_changed_attempts(course, old, new)]


def _changed_attempts(course: Course, old: CourseRules, new: CourseRules) -> Iterator[str]:
    """Yield a sentence for each student for whom another attempt counts under the rules `new`."""
    for name in course.graded_assignments():
        before, after = old.rules.of(name), new.rules.of(name)
        if (before.attempts, before.counts) == (after.attempts, after.counts):
            continue
        store = course.attempts(name)
        for student in store.students():
            attempts = store.of(student)
            first = counted(attempts, old, name, student)
            second = counted(attempts, new, name, student)
            if first == second or first is None or second is None:
                continue
            now = f"attempt {attempts.index(second) + 1}"
            if second.score is None and after.counts == BEST:
                now = "all attempts are graded, and the best counts"
            yield f"{name}, {student}: attempt {attempts.index(first) + 1} counted before; now {now}"


def _describe(change: PenaltyChange) -> str:
    """Return a text such as "03_x, ann: a late penalty of 2 points before, no late penalty now"."""
    return f"{change.assignment}, {change.student}: {describe_change(change.before, change.after)}"
