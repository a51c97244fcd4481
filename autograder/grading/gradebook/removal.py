"""Removal of one submission from the gradebook, and its return."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nbgrader.api import Gradebook, MissingEntry


def remove_submission(gradebook: Gradebook, assignment: str, student: str) -> None:
    """Delete a student's submission with grades and comments. Does nothing if there is none. Nothing is committed."""
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return
    for notebook in submission.notebooks:
        for row in [*notebook.grades, *notebook.comments]:
            gradebook.db.delete(row)
        gradebook.db.delete(notebook)
    gradebook.db.delete(submission)


def describe_submission(gradebook: Gradebook, assignment: str, student: str) -> dict[str, Any]:
    """Return a student's points and comments, for a file that people read. The dict is empty if there are none."""
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return {}
    notebooks = list(submission.notebooks)
    return {
        "handed in": submission.timestamp and submission.timestamp.isoformat(),
        "points": submission.score,
        "late penalty": submission.late_submission_penalty or 0.0,
        "cells": {
            grade.cell.name: {"automatic": grade.auto_score, "by hand": grade.manual_score}
            for notebook in notebooks
            for grade in notebook.grades
        },
        "comments by hand": {
            comment.cell.name: comment.manual_comment
            for notebook in notebooks
            for comment in notebook.comments
            if comment.manual_comment
        },
    }


def restore_submission(gradebook: Gradebook, assignment: str, student: str, said: Mapping[str, Any]) -> None:
    """Add a submission with the points and comments that `describe_submission` has returned. Nothing is committed.

    The late penalty is left out.
    Raises MissingEntry if the gradebook lacks the assignment.
    """
    came = said["handed in"] and datetime.fromisoformat(said["handed in"])
    gradebook.update_or_create_student(student)
    submission = gradebook.update_or_create_submission(assignment, student, timestamp=came)
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            stored = said["cells"].get(grade.cell.name, {"automatic": None, "by hand": None})
            grade.auto_score, grade.manual_score = stored["automatic"], stored["by hand"]
            grade.needs_manual_grade = stored["automatic"] is None and stored["by hand"] is None
        for comment in notebook.comments:
            comment.manual_comment = said["comments by hand"].get(comment.cell.name)
