"""The commands `autograder course DIR --check` and `--apply`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from ...language import quantity
from ..collecting.counted_attempts import counted
from ..course.course import Course, open_course
from ..terminal import printable
from .applied_rules import CourseRules, PenaltyChange, compare
from .course_file import AFTER_DUE, BEST, FILE, AssignmentRules, Rules
from .late_credit import describe
from .late_penalty import describe_change
from .machine_zone import machine_zone


def check_rules(root: Path, *, apply: bool) -> int:
    """Print the rules of the course in words, and what they change for submissions graded before.

    If `apply` is True, the rules then are those that grades follow. Returns the exit status 0.
    Raises UserError if a rule is wrong.
    """
    course = open_course(root)
    new = course.written
    for line in explain(course, new):
        print(printable(line))
    changes = list_changes(course, new)
    print(f"graded submissions: {len(changes) or 'none'} {'changed' if apply else 'would change'}")
    for change in changes:
        print(printable(f"  {change}"))
    if apply:
        course.apply(new)
        print("applied: `autograder grade` updates the grades")
        print(
            "then `autograder course DIR` and `nbgrader generate_assignment NAME --force`: notebooks tell the due date"
        )
    elif (old := course.applied) is None:
        print("the first `autograder grade` follows these rules")
    elif new != old:
        print("not applied yet: `autograder course DIR --apply` does it")
    return 0


def follow_rules(course: Course) -> list[str]:
    """Apply the rules in the files of the course if no grade changes by that. Otherwise change nothing.

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
        f"{FILE} or students.csv has changed. It was not applied, because grades would change:",
        *(f"  {change}" for change in changes),
        "`autograder course DIR --apply` applies it",
    ]


def list_changes(course: Course, new: CourseRules) -> list[str]:
    """Return the changes of late penalties and counted attempts by the rules `new`, in words."""
    old = course.applied or CourseRules(Rules(), {})
    with course.gradebook() as gradebook:
        lines = [_describe(change) for change in compare(gradebook.db, old, new)]
    return [*lines, *_changed_attempts(course, old, new)]


def _changed_attempts(course: Course, old: CourseRules, new: CourseRules) -> Iterator[str]:
    """Yield the students for whom another attempt counts under the rules `new`."""
    for name in course.graded_assignments():
        before, after = old.rules.of(name), new.rules.of(name)
        if (before.attempts, before.counts) == (after.attempts, after.counts):
            continue
        store = course.attempts(name)
        for student in store.students():
            attempts = store.of(student)
            first = counted(attempts, before, old.extension(student, name))
            second = counted(attempts, after, new.extension(student, name))
            if first == second or first is None or second is None:
                continue
            now = f"attempt {attempts.index(second) + 1}"
            if second.score is None and after.counts == BEST:
                now = "all attempts are graded, and the best counts"
            yield f"{name}, {student}: attempt {attempts.index(first) + 1} counted before; now {now}"


def _describe(change: PenaltyChange) -> str:
    """Return a change of a late penalty in words."""
    return f"{change.assignment}, {change.student}: {describe_change(change.before, change.after)}"


def explain(course: Course, one: CourseRules) -> Iterator[str]:
    """Yield the rules in words: of the course, of each assignment, and of each student with an extension."""
    rules = one.rules
    if rules.states_zone or not any(assignment.due for assignment in rules.assignments.values()):
        yield f"times are those of {rules.zone.key}"
    else:
        yield f'{FILE} names no time zone, so due dates are in UTC: write a line like time_zone = "{machine_zone()}"'
    if rules.late_days:
        days = quantity(rules.late_days, "late day")
        yield f"each student has {days} for the whole course; a late day pays for a day of lateness"
    if rules.drop:
        yield f"the course's total is without the worst {quantity(rules.drop, 'assignment')} of each student"
    names = {student.id: student.name for student in course.roster.students}
    for name, assignment in rules.assignments.items():
        yield f"{name}: {describe_assignment(assignment, rules)}"
        for student, extensions in one.extensions.items():
            if assignment.due and name in extensions:
                due = _local(assignment.due + extensions[name], rules)
                yield f"  {student} {names.get(student, '')}: due {due} (extension {describe(extensions[name]).en})"


def describe_assignment(one: AssignmentRules, rules: Rules) -> str:
    """Return the rules of one assignment in words."""
    parts = []
    if one.lessons != (one.name,):
        parts.append(f"lessons {', '.join(one.lessons)}")
    if one.exercises is not None:
        parts.append(f"counts {', '.join(one.exercises)}")
    parts += [f"{name} for {quantity(points, 'point')}" for name, points in one.points.items()]
    if one.release:
        parts.append(f"released {_local(one.release, rules)}")
    if one.attempts:
        parts.append(
            "the first attempt is graded" if one.attempts == 1 else f"the first {one.attempts} attempts are graded"
        )
    if one.counts == BEST:
        parts.append("the best attempt counts")
    if one.due is None:
        return "; ".join([*parts, "no due date"])
    if one.feedback == AFTER_DUE:
        parts.append("feedback after the due date")
    parts.append(f"due {_local(one.due, rules)}")
    if one.grace:
        parts.append(f"{describe(one.grace).en} later is still in time")
    steps = [f"{step.credit:g} % until {_local(one.due + step.until, rules)}" for step in one.late]
    parts.append(f"late work gets {', then '.join([*steps, 'nothing'])}")
    return "; ".join(parts)


def _local(time: datetime, rules: Rules) -> str:
    return f"{time.astimezone(rules.zone):%Y-%m-%d %H:%M}"
