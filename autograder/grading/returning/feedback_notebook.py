"""Graded notebooks with feedback, in the form that Canvas shows.

Canvas shows feedback under the name of the submitted file.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from ..submission.limited_outputs import without_outputs_for_instructor


def feedback_notebook(
    rules: CourseRules, paths: Sequence[Path], gradebook: Gradebook, assignment: str, student: str
) -> bytes:
    """Return the bytes of a notebook with a table of points at the top, and comments below the answers.

    `rules` are those that grades follow, `paths` are the graded notebooks, one behind another in the result.
    """
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    language = language_of(notebooks[0])
    show = partial(decimal, language=language)
    words = {name: text.read(language) for name, text in WORDS.items()}
    cells: list[NotebookNode] = []
    rows = [f"| {words['question']} | {words['points']} |", "|---|---:|"]
    for path, notebook in zip(paths, notebooks):
        without_outputs_for_instructor(notebook)
        submitted = gradebook.find_submission_notebook(path.stem, assignment, student)
        comments = {comment.name: comment.comment for comment in submitted.comments if comment.comment}
        lesson = str(notebook.metadata.get("autograder", {}).get("lesson", ""))
        for cell in notebook.cells:
            cell.id = f"cell-{len(cells)}"  # two lessons may have the same ids
            cells.append(cell)
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if name in comments:
                cells.append(_markdown(f"**{words['comment']}:** {comments[name]}", f"comment-{len(cells)}"))
        rows += [
            f"| {title(grade.name, lesson, language)} | {show(grade.score)} / {show(grade.max_score)} |"
            for grade in submitted.grades
        ]
    whole = gradebook.find_submission(assignment, student)
    penalty = whole.late_submission_penalty or 0.0
    lateness = explain_lateness(rules, gradebook.db, whole)
    if penalty or lateness:
        rows.append(f"| {words['late']}. {lateness.read(language) if lateness else ''} | {show(-penalty)} |")
    total = max(0.0, whole.score - penalty)
    rows.append(f"| **{words['total']}** | **{show(total)} / {show(whole.max_score)}** |")
    made = notebooks[0]
    made.cells = [_markdown("\n".join([f"# {words['feedback']}", "", *rows]), "feedback"), *cells]
    text: str = nbformat.writes(made)
    return text.encode("utf-8", "replace")


def _markdown(source: str, id: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=id)
