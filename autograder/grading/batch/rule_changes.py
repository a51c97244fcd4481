"""Changes of a course's rules, and what they do to grades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...grade_ids import CellKind, GradeId
from ...language import quantity
from ..course.course import Course
from ..rules.applied_rules import CourseRules, compare_rules
from ..rules.course_file import BEST, RULES_FILE, Rules
from ..rules.late_penalty import describe_change
from .counted_attempts import counted
from .point_changes import describe_points, point_changes, set_points


@dataclass(frozen=True)
class RuleChange:
    """A change that other rules make to the grade of one submission.

    `said` tells it in words.
    """

    assignment: str
    student: str
    said: str

    def __str__(self) -> str:
        return f"{self.assignment}, {self.student}: {self.said}"


def follow_rules(course: Course) -> list[str]:
    """Apply the rules in the files of the course, unless a grade would change. In that case nothing is applied.

    Returns lines for the terminal: what would change, and how to apply it. Without a change the list is empty.
    Raises UserError if a rule is wrong.
    """
    new, old = course.written, course.applied
    if new == old or (old is None and not new.text):
        return []
    changes = list_rule_changes(course, new)
    if not changes:
        enforce_rules(course, new)
        return []
    return [
        f"{RULES_FILE} or students.csv has changed. It was not applied, because grades would change:",
        *(f"  {change}" for change in changes),
        "`autograder course DIR --apply` applies it",
    ]


def enforce_rules(course: Course, new: CourseRules) -> None:
    """Let grades follow the rules `new` from the next grading on. Points of exercises change in the gradebook.

    Raises UserError if the gradebook fails.
    """
    old = course.applied or CourseRules(Rules(), {})
    with course.gradebook() as gradebook:
        set_points(point_changes(course, gradebook.db, old, new))
        gradebook.db.commit()
    course.apply(new)


def list_rule_changes(course: Course, new: CourseRules) -> list[RuleChange]:
    """Return what the rules `new` would change in the grades of submissions.

    The change may be in the points of exercises, in a late penalty, or in the attempt that counts.
    """
    old = course.applied or CourseRules(Rules(), {})
    with course.gradebook() as gradebook:
        points = point_changes(course, gradebook.db, old, new)
        changes = [RuleChange(*each) for each in describe_points(course, gradebook.db, points)]
        changes += [
            RuleChange(each.assignment, each.student, describe_change(each.before, each.after))
            for each in compare_rules(gradebook.db, old, new)
        ]
    return [*changes, *_changed_attempts(course, old, new)]


def stale_grades(course: Course, assignment: str) -> list[str]:
    """Return a sentence on grades that count other exercises or points than `course.toml` states, or no sentence.

    nbgrader fixes them when an assignment is generated, and refuses other graded cells once students have handed in.
    """
    one = course.written.rules.of(assignment)
    applied = course.rules.rules.of(assignment).points  # other points wait, and are named as such
    if one.exercises is None and not applied:
        return []
    with course.book() as book:
        if not book.has(assignment):  # an instructor has removed it
            return []
        graded = sorted(book.standings(assignment))
        cells = {name: cell for each in book.released(assignment).values() for name, cell in each.cells.items()}
    counts = {
        GradeId(name).exercise: cell.points
        for name, cell in cells.items()
        if cell.points is not None and GradeId(name).kind in (CellKind.CHECK, CellKind.WRITTEN)
    }
    wanted = dict.fromkeys(one.exercises or counts) | dict.fromkeys(applied)
    said = [f"{name} counts" for name, points in counts.items() if name not in wanted and points]
    said += [f"{name} does not count" for name in wanted if name not in counts and applied.get(name) != 0]
    said += [
        f"{name} is worth {quantity(counts[name] or 0, 'point')}"
        for name, points in applied.items()
        if name in counts and counts[name] != points
    ]
    if not said or not graded:
        return []
    return [
        f"stale grades, for {RULES_FILE} states other exercises or points: {', '.join(graded)}. In them "
        f"{', '.join(said)}. After a hand-in only points can change, also to 0: write `points = {{...}}`, then "
        f"`autograder course DIR --apply`, `autograder course DIR`, `autograder release DIR {assignment}`, and grade"
    ]


def _changed_attempts(course: Course, old: CourseRules, new: CourseRules) -> Iterator[RuleChange]:
    """Yield a change for each student for whom another attempt counts under the rules `new`."""
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
            yield RuleChange(name, student, f"attempt {attempts.index(first) + 1} counted before; now {now}")
