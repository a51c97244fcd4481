"""Late penalties: a course's nbgrader plugin, applied to the notebooks of a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbgrader.api import SubmittedAssignment
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

LatePenalty = Callable[[str, float, float], "float | None"]  # of a student, a score and the seconds late; None: none


def late_penalty(config: Config) -> LatePenalty:
    """Return the rule of a course: the plugin that its config names, or nbgrader's own, which takes nothing.

    The plugin is made at each call, so a broken one fails only the submissions that are late.
    """

    def rule(student: str, score: float, seconds: float) -> float | None:
        step = AssignLatePenalties(config=config)
        step.init_plugin()
        penalty: float | None = step.plugin_inst.late_submission_penalty(student, score, seconds)
        return penalty

    return rule


def no_penalty(student: str, score: float, seconds: float) -> None:
    """Take nothing: for a gradebook that is only read."""


def seconds_late(submission: SubmittedAssignment) -> float:
    """Return the seconds by which a submission was late. nbgrader's method fails on an extension without a due date."""
    return float(submission.total_seconds_late) if submission.assignment.duedate else 0.0


def apply_penalty(
    submission: SubmittedAssignment, student: str, scores: Mapping[str, float], rule: LatePenalty
) -> None:
    """Set the late penalties of a submission's notebooks, given their scores by id. None exceeds the score."""
    late = seconds_late(submission)
    for submitted in submission.notebooks:
        score = scores[submitted.id]
        owed = rule(student, score, late) if late > 0 else None
        submitted.late_submission_penalty = None if owed is None else min(max(owed, 0), score)
