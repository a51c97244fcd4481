"""Explanations of late penalties, for students."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from nbgrader.api import SubmittedAssignment

from ...language import LANGUAGES, Text, decimal, with_offset
from ...messages.feedback import LATE
from .applied_rules import CourseRules
from .late_credit import describe_credit
from .late_penalty import credit_of, seconds_late


def explain_lateness(current: CourseRules, db: Any, submission: SubmittedAssignment) -> Text | None:
    """Return sentences for a student: when the submission was due, when it came, and what credit it gets.

    Returns None if the submission came in time. `current` are the rules that grades follow, `db` is the gradebook's
    session. The credit is left out if these rules state no due date: a plugin of the course may then decide.
    """
    late = timedelta(seconds=seconds_late(submission))
    assignment, extension = submission.assignment.name, submission.extension or timedelta(0)
    if late <= timedelta(0) or current.forgives(submission.student_id, assignment, late):
        return None
    due, came = (
        with_offset(time.replace(tzinfo=UTC).astimezone(current.rules.zone))
        for time in (submission.assignment.duedate + extension, submission.timestamp)
    )
    span = describe_credit(late)
    said = [
        LATE["extended" if extension else "due"].format(due=due),
        Text(LATE["came"].en.format(came=came, late=span.en), LATE["came"].ru.format(came=came, late=span.ru)),
    ]
    if current.rules.of(assignment).due:
        credit = credit_of(db, current, submission.student_id, assignment, late)
        said += [LATE["late_days"].format(count=credit.late_days)] if credit.late_days else []
        share = Text(*(LATE["credit"].read(each).format(percent=decimal(credit.percent, each)) for each in LANGUAGES))
        said.append(LATE["whole"] if credit.percent == 100 else share)
    return Text(*(" ".join(each.read(language) for each in said) for language in LANGUAGES))
