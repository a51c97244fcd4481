"""The commands `autograder course DIR --check` and `--apply`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from ...language import quantity
from ..batch.rule_changes import enforce_rules, list_rule_changes, stale_grades
from ..course.course import Course, open_course
from ..rules.applied_rules import CourseRules
from ..rules.course_file import AFTER_DUE, BEST, PER_STUDENT, RULES_FILE, AssignmentRules, Rules
from ..rules.late_credit import describe_credit
from ..rules.machine_zone import machine_zone
from ..terminal import printable


def check_rules(root: Path, *, apply: bool) -> int:
    """Print the rules of the course in words, and what they change for submissions graded before.

    If `apply` is True, grades follow these rules from now on. Returns the exit status 0.
    Raises UserError if a rule is wrong.
    """
    course = open_course(root)
    new = course.written
    for line in explain_rules(course, new):
        print(printable(line))
    changes = list_rule_changes(course, new)
    many = len({(change.assignment, change.student) for change in changes})
    print(f"graded submissions: {many or 'none'} {'changed' if apply else 'would change'}")
    for change in changes:
        print(printable(f"  {change}"))
    for name in course.graded_assignments():
        for line in stale_grades(course, name):
            print(printable(f"  {line}"))
    old = course.applied
    if apply:
        enforce_rules(course, new)
        print("applied: `autograder grade` updates the grades")
        if old is None or old.rules != new.rules:
            print("then `autograder course DIR` and `autograder release DIR`: notebooks tell due dates and points")
    elif old is None:
        print("the first `autograder grade` follows these rules")
    elif new != old:
        print("not applied yet: `autograder course DIR --apply` does it")
    return 0


def explain_rules(course: Course, one: CourseRules) -> Iterator[str]:
    """Yield the rules in words: of the course, of each assignment, and of each student with an extension."""
    rules = one.rules
    if rules.states_zone or not any(assignment.due for assignment in rules.assignments.values()):
        yield f"times are those of {rules.zone.key}"
    else:
        line = f'time_zone = "{machine_zone()}"'
        yield f"{RULES_FILE} names no time zone, so due dates are in UTC: write a line like {line}"
    if rules.late_days:
        days = quantity(rules.late_days, "late day")
        yield f"each student has {days} for the whole course; a late day pays for a day of lateness"
    if rules.drop:
        yield f"the course's total is without the worst {quantity(rules.drop, 'assignment')} of each student"
    names = {student.id: student.name for student in course.roster.students}
    for name, assignment in rules.assignments.items():
        yield f"{name}: {describe_rules(assignment, rules)}"
        for student, extensions in one.extensions.items():
            if assignment.due and name in extensions:
                due = assignment.due + extensions[name]
                longer = describe_credit(_by_clock(due, rules) - _by_clock(assignment.due, rules)).en
                yield f"  {student} {names.get(student, '')}: due {_local(due, rules)} (extension {longer})"


def describe_rules(one: AssignmentRules, rules: Rules) -> str:
    """Return the rules of one assignment in words, such as "due 2026-09-17 23:59; late work gets nothing"."""
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
    if one.variants == PER_STUDENT:
        parts.append(f"each student has tables of predictions of their own (`autograder handout DIR {one.name}`)")
    if one.due is None:
        return "; ".join([*parts, "no due date"])
    if one.feedback == AFTER_DUE:
        parts.append("feedback after the due date")
    parts.append(f"due {_local(one.due, rules)}")
    if one.grace.length:
        parts.append(f"{describe_credit(one.grace.length).en} later is still in time")
    steps = [f"{step.credit:g} % until {_local(step.until.after(one.due, rules.zone), rules)}" for step in one.late]
    parts.append(f"late work gets {', then '.join([*steps, 'nothing'])}")
    if opens := one.solutions_open(rules.zone, rules.late_days):
        parts.append(f"the released notebook shows solutions from {_local(opens, rules)} on")
    return "; ".join(parts)


def _by_clock(time: datetime, rules: Rules) -> datetime:
    """Return what a clock in the course's time zone shows, without a time zone."""
    return time.astimezone(rules.zone).replace(tzinfo=None)


def _local(time: datetime, rules: Rules) -> str:
    return f"{time.astimezone(rules.zone):%Y-%m-%d %H:%M}"
