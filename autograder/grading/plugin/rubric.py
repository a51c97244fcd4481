"""Rubrics for manual grading, shown in formgrader beside a student's answers.

A rubric is a text that tells how to give points to a written answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode

from ..files.submitted_cells import grade_id_of, source_of


class ShowRubric(Preprocessor):  # type: ignore[misc]
    """A preprocessor that shows the rubric above a student's written answer.

    The rubric is the text of the answer's cell in the source notebook.
    """

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        rubrics = _rubrics(resources)
        cells = []
        for cell in nb.cells:
            text = rubrics.get(grade_id_of(cell))
            if text:
                quoted = "\n".join(f"> {line}" for line in text.splitlines())
                cells.append(nbformat.v4.new_markdown_cell(quoted))
            cells.append(cell)
        nb.cells = cells
        return nb, resources


def _rubrics(resources: Any) -> dict[str, str]:
    """Return a dict from grade id to the text of the rubric.

    The dict is empty if there is no source notebook, or if the notebook is not shown for manual grading.
    """
    if "submission_id" not in resources:
        return {}
    course = Path(resources["metadata"]["path"]).parents[2]  # the path is autograded/STUDENT/ASSIGNMENT
    source = course / "source" / resources["assignment_id"] / f"{resources['notebook_id']}.ipynb"
    try:
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        written = [cell for cell in cells if cell["cell_type"] == "markdown" and grade_id_of(cell)]
        return {grade_id_of(c): source_of(c) for c in written if c["metadata"]["nbgrader"].get("solution")}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
