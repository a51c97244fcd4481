"""Late penalties of a submission's notebooks.

A course chooses the rule. The default is that of `course.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from nbgrader.api import Assignment, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from traitlets.config import Config

from .applied_rules import applied_rules, lateness
from .late_credit import credits

# Assignment, student, score, and seconds late to points off.
LatePenalty = Callable[[str, str, float, float], "float | None"]


class CourseLatePenalty(LateSubmissionPlugin):  # type: ignore[misc]
    """A plugin for nbgrader with the late penalties of `course.toml`.

    For an assignment without such a rule, nbgrader's own settings count.
    """

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """Return the points to take off one notebook, or None for none.

        Late days may have been used for other assignments: their lateness is read from the gradebook.
        """
        applied = applied_rules(Path(self.config.CourseDirectory.get("root", ".")))
        assignment = self.parent.assignment_id
        if applied is None or applied.rules.of(assignment).due is None:
            penalty: float | None = super().late_submission_penalty(student_id, score, total_seconds_late)
            return penalty
        with Session(create_engine(self.parent.db_url)) as db:
            others = (
                db.query(Assignment.name, SubmittedAssignment.timestamp)
                .select_from(SubmittedAssignment)
                .join(Assignment)
                .filter(SubmittedAssignment.student_id == student_id)
            )
            late = {name: lateness(time, student_id, name, applied) for name, time in others}
        late[assignment] = timedelta(seconds=total_seconds_late)
        return score * (1 - credits(applied.rules, late)[assignment].percent / 100)


def late_penalty(config: Config, db_url: str) -> LatePenalty:
    """Return the course's rule for late penalties, as a function.

    The config names an nbgrader plugin with the rule, by default `CourseLatePenalty`. The plugin object is
    created at each call of the function. A broken plugin therefore fails only for late submissions.
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
    """Return the number of seconds between the due date and a late submission.

    nbgrader's own method fails for a student with an extension if the assignment has no due date.
    """
    return float(submission.total_seconds_late) if submission.assignment.duedate else 0.0


def apply_penalty(
    submission: SubmittedAssignment, student: str, scores: Mapping[str, float], rule: LatePenalty
) -> None:
    """Set the late penalty of each notebook of a submission.

    `scores` maps the notebooks' database ids to their scores. A penalty never exceeds the notebook's score.
    """
    late = seconds_late(submission)
    for submitted in submission.notebooks:
        score = scores[submitted.id]
        owed = rule(submission.assignment.name, student, score, late) if late > 0 else None
        submitted.late_submission_penalty = None if owed is None else min(max(owed, 0), score)
