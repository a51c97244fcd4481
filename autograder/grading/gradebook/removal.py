"""Removal of one submission from the gradebook."""

from __future__ import annotations

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
