"""Changes of a course's rules, and what they do to grades."""

from __future__ import annotations

from collections.abc import Iterator

from ...grade_ids import CellKind, GradeId
from ...language import quantity
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


def stale_grades(course: Course, assignment: str) -> list[str]:
    """Return a sentence on grades that count other exercises or points than `course.toml` states, or no sentence.

    nbgrader fixes them when an assignment is generated, and refuses other graded cells once students have handed in.
    """
    one = course.written.rules.of(assignment)
    if one.exercises is None and not one.points:
        return []
    with course.book() as book:
        graded = sorted(book.standings(assignment))
        cells = {name: cell for each in book.released(assignment).values() for name, cell in each.cells.items()}
    counts = {
        GradeId(name).exercise: cell.points
        for name, cell in cells.items()
        if cell.points is not None and GradeId(name).kind in (CellKind.CHECK, CellKind.WRITTEN)
    }
    wanted = dict.fromkeys(one.exercises or counts) | dict.fromkeys(one.points)
    said = [f"{name} counts" for name, points in counts.items() if name not in wanted and points]
    said += [f"{name} does not count" for name in wanted if name not in counts and one.points.get(name) != 0]
    said += [
        f"{name} is worth {quantity(counts[name] or 0, 'point')}"
        for name, points in one.points.items()
        if name in counts and counts[name] != points
    ]
    if not said or not graded:
        return []
    return [
        f"stale grades, for {RULES_FILE} states other exercises or points: {', '.join(graded)}. In them "
        f"{', '.join(said)}. After a hand-in only points can change, also to 0: write `points = {{...}}`, then "
        f"`autograder course DIR`, `nbgrader generate_assignment {assignment} --force`, and grade"
    ]


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
