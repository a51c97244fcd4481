"""Late penalties of submissions, by `course.toml` or a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from nbgrader.api import Assignment, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import NullPool, create_engine
from sqlalchemy.orm import Session
from traitlets.config import Config

from ...language import quantity
from .applied_rules import CourseRules, applied_rules, hand_in
from .late_credit import Credit, HandIn, credits

# Maps assignment, student, score and seconds late to the points to take off, or None.
LatePenalty = Callable[[str, str, float, float], "float | None"]


class CourseLatePenalty(LateSubmissionPlugin):  # type: ignore[misc]
    """A plugin for nbgrader with the late penalties of `course.toml`.

    For an assignment without a due date in `course.toml`, nbgrader's own settings count.
    """

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Return the points to take off one notebook, or None if there are none to take off.

        Late days may have been used for other assignments: their lateness is read from the gradebook.
        """
        applied = applied_rules(Path(self.config.CourseDirectory.get("root", ".")))
        assignment = self.parent.assignment_id
        if applied is None or applied.rules.of(assignment).due is None:
            penalty: float | None = super().late_submission_penalty(student_id, score, total_seconds_late)
            return penalty
        with Session(create_engine(self.parent.db_url, poolclass=NullPool)) as db:
            credit = credit_of(db, applied, student_id, assignment, timedelta(seconds=total_seconds_late))
        return score * (1 - credit.percent / 100)


def credit_of(db: Any, applied: CourseRules, student: str, assignment: str, late: timedelta) -> Credit:
    """Return the credit for a student's submission that came `late` after the due date.

    `applied` are the rules. `db` is the gradebook's session, from which the student's other submissions are read: late
    days may have been used for them.
    """
    submissions = (
        db.query(Assignment.name, SubmittedAssignment.timestamp)
        .select_from(SubmittedAssignment)
        .join(Assignment)
        .filter(SubmittedAssignment.student_id == student)
    )
    times = {name: hand_in(time, student, name, applied) for name, time in submissions}
    due = hand_in(None, student, assignment, applied).due
    times[assignment] = HandIn(due + late if due else None, due)
    return credits(applied.rules, times)[assignment]


def late_penalty(config: Config, db_url: str) -> LatePenalty:
    """Return the course's rule for late penalties, as a function.

    `config` names an nbgrader plugin with the rule, by default `CourseLatePenalty`. `db_url` is the gradebook's
    address. The plugin object is created at each call of the function. A broken plugin therefore fails only for late
    submissions.
    """

    def rule(assignment: str, student: str, score: float, seconds: float) -> float | None:
        step = AssignLatePenalties(config=config)
        step.assignment_id, step.db_url = assignment, db_url
        step.init_plugin()
        penalty: float | None = step.plugin_inst.late_submission_penalty(student, score, seconds)
        return penalty

    return rule


def no_penalty(assignment: str, student: str, score: float, seconds: float) -> None:
    """Return None: no points are taken off. This rule is for a gradebook that is only read."""


def seconds_late(submission: SubmittedAssignment) -> float:
    """Return the seconds between the due date and a late submission, or 0 if it is in time or has no due date.

    nbgrader's own method fails for a student with an extension if the assignment has no due date.
    """
    return float(submission.total_seconds_late) if submission.assignment.duedate else 0.0


def describe_change(before: float, after: float) -> str:
    """Return a text such as "a late penalty of 2 points before, no late penalty now". Both numbers are points."""
    said = [f"a late penalty of {quantity(each, 'point')}" if each else "no late penalty" for each in (before, after)]
    return f"{said[0]} before, {said[1]} now"


def apply_penalty(
    submission: SubmittedAssignment, student: str, scores: Mapping[str, float], rule: LatePenalty
) -> None:
    """Set the late penalty of each notebook of a submission.

    `scores` maps the notebooks' database ids to their scores. `rule` tells the points to take off. A penalty never
    exceeds the notebook's score.
    """
    late = seconds_late(submission)
    for submitted in submission.notebooks:
        score = scores[submitted.id]
        owed = rule(submission.assignment.name, student, score, late) if late > 0 else None
        submitted.late_submission_penalty = None if owed is None else min(max(owed, 0), score)
