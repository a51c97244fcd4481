"""Graded notebooks with feedback, in the form that Canvas shows.

Canvas shows feedback under the name of the submitted file.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook

from ...language import decimal
from ...messages.feedback import WORDS
from ..plugin.feedback_exporter import language_of, title
from ..rules.applied_rules import CourseRules
from ..rules.late_explanation import explain_lateness
from ..submission.outputs import without_outputs_for_instructor


def feedback_notebook(rules: CourseRules, path: Path, gradebook: Gradebook, assignment: str, student: str) -> bytes:
    """Return the bytes of a graded notebook with a table of points at the top, and comments below the answers.

    `rules` are those that grades follow, `path` is the graded notebook.
    """
    notebook = nbformat.read(path, as_version=4)
    without_outputs_for_instructor(notebook)
    language = language_of(notebook)
    show = partial(decimal, language=language)
    words = {name: text.read(language) for name, text in WORDS.items()}
    submitted = gradebook.find_submission_notebook(path.stem, assignment, student)
    points = {grade.name: (grade.score, grade.max_score) for grade in submitted.grades}
    comments = {comment.name: comment.comment for comment in submitted.comments if comment.comment}
    lesson = str(notebook.metadata.get("autograder", {}).get("lesson", ""))
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        cells.append(cell)
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in comments:
            cells.append(_markdown(f"**{words['comment']}:** {comments[name]}", f"comment-{len(cells)}"))
    rows = [f"| {words['question']} | {words['points']} |", "|---|---:|"]
    rows += [
        f"| {title(name, lesson, language)} | {show(got)} / {show(most)} |" for name, (got, most) in points.items()
    ]
    penalty = submitted.late_submission_penalty or 0.0
    lateness = explain_lateness(rules, gradebook.db, submitted.assignment)
    if penalty or lateness:
        rows.append(f"| {words['late']}. {lateness.read(language) if lateness else ''} | {show(-penalty)} |")
    total = max(0.0, submitted.score - penalty)
    rows.append(f"| **{words['total']}** | **{show(total)} / {show(submitted.max_score)}** |")
    notebook.cells = [_markdown("\n".join([f"# {words['feedback']}", "", *rows]), "feedback"), *cells]
    text: str = nbformat.writes(notebook)
    return text.encode("utf-8", "replace")


def _markdown(source: str, id: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=id)
