"""Grades of an assignment and of the course, and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..course.attempts import Attempt
from ..course.course import Course
from ..tables.csv_text import write_csv
from ..tables.roster import Student


@dataclass(frozen=True)
class Grade:
    """The grade of one student.

    `points` are those after late penalties, `penalty` is what was taken off. `attempt` is the student's latest attempt.
    It is None if the submission came by another way than `autograder collect`.
    """

    student: Student
    points: float
    penalty: float
    attempt: Attempt | None


@dataclass
class Grades:
    """The grades of one assignment.

    `nothing` maps students without a grade to the reason. `waiting` are those of them who wait for points by hand.
    `idle` are the ids and names of students without a submission.
    """

    by_student: dict[str, Grade]
    maximum: float
    nothing: dict[str, str]
    idle: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)


def write_grades(path: Path, grades: Grades) -> None:
    """Write a table with the grades of one assignment."""
    rows = [["id", "name", "email", "points", "maximum", "late penalty"]]
    for student, grade in sorted(grades.by_student.items()):
        points = (grade.points, grades.maximum, grade.penalty)
        rows.append([student, grade.student.name, grade.student.email, *(f"{each:g}" for each in points)])
    write_csv(path, rows)


def write_total(path: Path, course: Course, grades: Mapping[str, Grades]) -> None:
    """Write a table with each student's points in all assignments, and the total of the course.

    `grades` maps assignments to grades. An assignment without a submission gives 0 points. The rules tell how many
    assignments are dropped for each student: those with the smallest share of the maximum. Who waits for points by hand
    has no total yet; a column names the assignments.
    """
    dropped = course.stated.drop
    students = {student.id: student for student in course.roster.students}
    students |= {student: grade.student for each in grades.values() for student, grade in each.by_student.items()}
    students |= {id: Student(id) for each in grades.values() for id in each.waiting if id not in students}
    rows = [["id", "name", "email", *grades, "total", "maximum", "dropped", "waits for points by hand"]]
    for id, student in sorted(students.items()):
        points = {name: each.by_student[id].points if id in each.by_student else None for name, each in grades.items()}
        out = worst({name: (points[name] or 0.0, each.maximum) for name, each in grades.items()}, dropped)
        counted = [name for name in grades if name not in out]
        total = sum(points[name] or 0.0 for name in counted)
        maximum = sum(grades[name].maximum for name in counted)
        shown = ["" if each is None else f"{each:g}" for each in points.values()]
        waits = [name for name, each in grades.items() if id in each.waiting]
        sums = ["", "", ""] if waits else [f"{total:g}", f"{maximum:g}", " ".join(out)]
        rows.append([id, student.name, student.email, *shown, *sums, " ".join(waits)])
    write_csv(path, rows)


def worst(points: Mapping[str, tuple[float, float]], number: int) -> list[str]:
    """Return up to `number` assignments, those with the smallest shares of their maximum. Keep at least one.

    `points` maps assignments to points and maximum.
    """
    shares = {name: got / most if most else 1.0 for name, (got, most) in points.items()}
    ranked = sorted(shares, key=lambda name: (shares[name], name))
    return sorted(ranked[: min(number, max(0, len(ranked) - 1))])
