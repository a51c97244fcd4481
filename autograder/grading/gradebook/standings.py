"""Points, penalties and pending reviews of students in the gradebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbgrader.api import Assignment, Grade, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import case, func

from ..rules.late_penalty import seconds_late


@dataclass(frozen=True)
class StudentStanding:
    """Points, late penalty and state of review of one submission.

    `score` and `penalty` are in points. The penalty is not subtracted from the score. `flagged` tells whether
    formgrader shows a flag on one of the notebooks.
    """

    score: float
    penalty: float
    late: float  # seconds
    flagged: bool
    by_hand: bool  # has a manual score
    waiting: bool  # needs manual grading


def student_standings(db: Any, assignment: str) -> dict[str, StudentStanding]:
    """Return a dict from student to points and state of review, for all students with a submission of the assignment.

    `db` is the gradebook's SQLAlchemy session.
    """
    graded = (
        db.query(
            SubmittedAssignment.student_id,
            func.coalesce(func.sum(Grade.score), 0.0),
            func.count(Grade.manual_score),
            func.sum(case((Grade.needs_manual_grade, 1), else_=0)),
        )
        .select_from(SubmittedAssignment)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .outerjoin(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .outerjoin(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Assignment.name == assignment)
        .group_by(SubmittedAssignment.student_id)
    )
    marked = (
        db.query(
            SubmittedAssignment.student_id,
            func.sum(SubmittedNotebook.late_submission_penalty),
            func.sum(case((SubmittedNotebook.flagged, 1), else_=0)),
        )
        .select_from(SubmittedAssignment)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .filter(Assignment.name == assignment)
        .group_by(SubmittedAssignment.student_id)
    )
    marks = {student: (penalty or 0.0, bool(flagged)) for student, penalty, flagged in marked}
    late = {
        each.student_id: seconds_late(each)
        for each in db.query(SubmittedAssignment).join(Assignment).filter(Assignment.name == assignment)
    }
    found = {}
    for student, score, by_hand, waiting in graded:
        penalty, flagged = marks.get(student, (0.0, False))
        found[student] = StudentStanding(
            float(score), penalty, late.get(student, 0.0), flagged, bool(by_hand), bool(waiting)
        )
    return found
