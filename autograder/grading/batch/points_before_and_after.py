"""Points of students before and after a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...language import quantity
from ..course.course import Course
from ..files.inert_names import one_line
from ..gradebook.standings import student_standings

Points = Mapping[tuple[str, str], float]  # by assignment and student, after late penalties


def points_now(course: Course) -> dict[tuple[str, str], float]:
    """Return the points of all students in all assignments of the gradebook, after late penalties."""
    with course.gradebook() as gradebook:
        found = {each.name: student_standings(gradebook.db, each.name) for each in gradebook.assignments}
    return {
        (name, student): max(0.0, each.score - each.penalty)
        for name, of_students in found.items()
        for student, each in of_students.items()
    }


def list_point_changes(before: Points, now: Points, *, falls: bool) -> Iterator[str]:
    """Yield a sentence on each student whose points have changed, if `falls` only where they fell."""
    for key in sorted(before.keys() & now.keys()):
        difference = now[key] - before[key]
        if difference < -1e-9 or (difference > 1e-9 and not falls):
            name, student = key
            yield f"{name}, {one_line(student)}: {quantity(before[key], 'point')} before, {now[key]:g} now"
