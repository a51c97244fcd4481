"""Grades of an assignment and of the course, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..batch.counted_attempts import counted
from ..course.attempts import Attempt, AttemptStore
from ..course.course import Course
from ..course.graded_folder import graded_at
from ..course.turnout import not_few
from ..gradebook.standings import student_standings
from ..lms.interface.origin import Sender, is_hidden_id
from ..tables.csv_text import write_csv
from ..tables.roster import Student
from ..tables.teams import left_out

_WAITS = "no grade: some answers wait for points from a person (formgrader)"


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

    @property
    def sender(self) -> Sender:
        """The student, as the LMS of the latest attempt knows them."""
        return Sender.of(self.attempt.lms if self.attempt else {})


@dataclass
class Grades:
    """The grades of one assignment.

    `nothing` maps students without a grade to the reason. `idle` are the ids and names of students without a
    submission. `waiting` are students some of whose answers wait for points by hand. `dropped` are the students who
    have left the course but have a submission. `gone` are those whose submission was graded and has gone. `teams` are
    sentences on students without a submission whose team has one.
    """

    by_student: dict[str, Grade]
    maximum: float
    nothing: dict[str, str]
    idle: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    dropped: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)


def grades_of(course: Course, assignment: str) -> Grades:
    """Return the grades of an assignment, and the reasons why some students have none."""
    roster = {student.id: student for student in course.roster.students}
    store = course.attempts(assignment)
    with course.gradebook() as gradebook:
        found = student_standings(gradebook.db, assignment)
        grades = Grades({}, float(gradebook.find_assignment(assignment).max_score), {})
    handed_in = {folder.parent.name for folder in course.submissions(assignment)}
    for id in sorted(found.keys() | handed_in):
        student = roster.get(id, Student(id))
        if student.dropped:
            grades.dropped.append(str(student))
        elif id not in handed_in:
            grades.gone.append(str(student))
        elif id not in found:
            grades.nothing[id] = "no grade: not graded yet"
        elif found[id].waiting:
            grades.nothing[id] = _WAITS
            grades.waiting.add(id)
        elif _is_newer(course, assignment, id):
            grades.nothing[id] = f"no grade: another attempt counts now; run `autograder grade . {assignment}` before"
        else:
            points = max(0.0, found[id].score - found[id].penalty)
            attempts = store.all_of(id)  # the LMS knows the latest one
            grades.by_student[id] = Grade(student, points, found[id].penalty, attempts[-1] if attempts else None)
    hidden = [_numbers(store, id) for id in found.keys() | handed_in if is_hidden_id(id)]
    known = [student for student in roster.values() if any(map(student.is_called_by, hidden))]
    idle = [student for student in roster.values() if student.id not in found.keys() | handed_in]
    if len(known) == len(hidden):  # otherwise it is unknown whose work some of these are
        grades.idle = sorted(str(student) for student in idle if not student.dropped and student not in known)
    grades.teams = list(left_out(course.roster, assignment, found.keys() | handed_in))
    return grades


def _numbers(store: AttemptStore, student: str) -> set[str]:
    """Return the numbers by which LMSs know a student."""
    return {Sender.of(attempt.lms).number for attempt in store.all_of(student)}


def _is_newer(course: Course, assignment: str, student: str) -> bool:
    """Return whether the attempt that counts was collected, or its time corrected, after it was graded."""
    attempt = counted(course.attempts(assignment).of(student), course.rules, assignment, student)
    time = graded_at(course.autograded(assignment, student))
    if attempt is None or time is None or not attempt.lms:
        return False
    return max(attempt.taken, attempt.retimed) > time.isoformat()


def write_grades(path: Path, grades: Grades) -> None:
    """Write a table with the grades of one assignment."""
    rows = [["id", "name", "email", "points", "maximum", "late penalty"]]
    for student, grade in sorted(grades.by_student.items()):
        points = (grade.points, grades.maximum, grade.penalty)
        rows.append([student, grade.student.name, grade.student.email, *(f"{each:g}" for each in points)])
    write_csv(path, rows)


def write_total(path: Path, course: Course, grades: Mapping[str, Grades], counted: Sequence[str]) -> None:
    """Write a table with each student's points in all assignments, and the total of the course.

    `grades` maps assignments to grades, of which those in `counted` count (see `counted_in_total`). An assignment
    without a submission gives 0 points. The rules tell how many assignments are dropped for each student: those with
    the smallest share of the maximum. Who waits for points by hand has no total yet. Columns name the assignments that
    do not count yet, and those that wait.
    """
    dropped = course.stated.drop
    not_yet = " ".join(name for name in grades if name not in counted)
    students = {student.id: student for student in course.roster.students}
    students |= {student: grade.student for each in grades.values() for student, grade in each.by_student.items()}
    students |= {id: Student(id) for each in grades.values() for id in each.waiting if id not in students}
    rows = [["id", "name", "email", *grades, "total", "maximum", "dropped", "not due yet", "waits for points by hand"]]
    for id, student in sorted(students.items()):
        if student.dropped:
            continue
        points = {name: each.by_student[id].points if id in each.by_student else None for name, each in grades.items()}
        out = worst({name: (points[name] or 0.0, grades[name].maximum) for name in counted}, dropped)
        counts = [name for name in counted if name not in out]
        total = sum(points[name] or 0.0 for name in counts)
        maximum = sum(grades[name].maximum for name in counts)
        shown = ["" if each is None else f"{each:g}" for each in points.values()]
        waits = [name for name in counted if id in grades[name].waiting]
        sums = ["", "", ""] if waits else [f"{total:g}", f"{maximum:g}", " ".join(out)]
        rows.append([id, student.name, student.email, *shown, *sums, not_yet, " ".join(waits)])
    write_csv(path, rows)


def counted_in_total(course: Course, grades: Mapping[str, Grades]) -> list[str]:
    """Return the assignments that count for everybody's total.

    One that is not due yet does not, though some have handed it in. Without a due date one does not that few have
    handed in, as it may be the wrong notebook.
    """
    senders = {name: each.by_student.keys() | each.nothing.keys() for name, each in grades.items()}
    probable, now = not_few(senders), datetime.now(UTC)
    due = {name: course.rules.rules.of(name).due for name in grades}
    return [name for name in grades if (due[name] or now) <= now and (due[name] or name in probable)]


def worst(points: Mapping[str, tuple[float, float]], number: int) -> list[str]:
    """Return up to `number` assignments, those with the smallest shares of their maximum. Keep at least one.

    `points` maps assignments to points and maximum.
    """
    shares = {name: got / most if most else 1.0 for name, (got, most) in points.items()}
    ranked = sorted(shares, key=lambda name: (shares[name], name))
    return sorted(ranked[: min(number, max(0, len(ranked) - 1))])
