"""Late penalties of a submission's notebooks.

A course chooses the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbgrader.api import SubmittedAssignment
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

LatePenalty = Callable[[str, float, float], "float | None"]  # (student, score, seconds late) to points off


def late_penalty(config: Config) -> LatePenalty:
    """Return the course's rule for late penalties, as a function.

    The config names an nbgrader plugin with the rule. The default is nbgrader's own plugin, which takes no points off.
    The plugin object is created at each call of the function. A broken plugin therefore fails only for late
    submissions.
    """

    def rule(student: str, score: float, seconds: float) -> float | None:
        step = AssignLatePenalties(config=config)
        step.init_plugin()
        penalty: float | None = step.plugin_inst.late_submission_penalty(student, score, seconds)
        return penalty

    return rule


def no_penalty(student: str, score: float, seconds: float) -> None:
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
        owed = rule(student, score, late) if late > 0 else None
        submitted.late_submission_penalty = None if owed is None else min(max(owed, 0), score)
