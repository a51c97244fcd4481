"""Scores of graded cells; a check's score comes from its verdict."""

from __future__ import annotations

from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import SaveAutoGrades
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task

from ...checking.verdict import MIME, VerdictState
from ...language import Text
from ...lessons.source import CHECK
from ..gradebook.scores import NotebookScores, Score
from .limited_outputs import output

_NO_VERDICT = Text(
    "The check gave no verdict, so it earns nothing. Most likely the answer replaced `check` or stopped the kernel.",
    "Проверка не дала результата, поэтому баллов нет. Скорее всего, ответ заменил собой `check` или остановил ядро.",
)


def score_of(cell: NotebookNode) -> Score:
    """Return the score of a graded cell that has been run.

    nbgrader reads a cell's outputs in order. It gives full points to a graded cell without outputs, and no points for
    text on stderr. In a check, the verdict is therefore moved before the other outputs. A check without a verdict gets
    an error.
    For all cells but checks nbgrader's own rules apply.
    """
    if is_check(cell):
        cell.outputs = verdict_first(cell)
    points, _ = determine_grade(cell)
    return Score(points, points is None or any(_is_fault(output) for output in cell.get("outputs", [])))


def comment_on(cell: NotebookNode) -> str | None:
    """Return nbgrader's comment "No response." if the answer is unchanged, otherwise None."""
    untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) and not is_task(cell)
    return "No response." if untouched else None


class SaveVerdicts(SaveAutoGrades):  # type: ignore[misc]
    """nbgrader's preprocessor that writes scores, changed to use `score_of`."""

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        name = cell.metadata.nbgrader.grade_id
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        score = score_of(cell)
        grade.auto_score = score.points
        grade.needs_manual_grade = score.waits or grade.manual_score is not None
        self.gradebook.db.commit()


def is_check(cell: NotebookNode) -> bool:
    """Return whether a cell is a graded cell that ends in `check(...)`.

    The notebook must be sanitized, so that the cell has its released source.
    """
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell) and bool(CHECK.search(cell.source))


def verdict_first(cell: NotebookNode) -> list[NotebookNode]:
    """Return the outputs of a check, with the verdict first.

    If there is no verdict, or more than one, an error comes first.
    """
    verdicts = [output for output in cell.outputs if _is_verdict(output, float(cell.metadata.nbgrader.points))]
    others = [output for output in cell.outputs if output not in verdicts]
    if len(verdicts) == 1:
        return [*verdicts, *others]
    if any(output.output_type == "error" for output in others):
        return sorted(others, key=lambda output: output.output_type != "error")
    return [output("error", ename="NoVerdict", evalue="", traceback=_NO_VERDICT.read(None).splitlines()), *others]


def _is_verdict(output: NotebookNode, maximum: float) -> bool:
    """Return whether an output has the record of a verdict and points from 0 to `maximum`."""
    if output.output_type != "execute_result" or MIME not in output.data:
        return False
    try:
        return 0 <= float(output.data.get("text/plain", "")) <= maximum
    except ValueError:
        return False


def _is_fault(output: NotebookNode) -> bool:
    """Return whether an output is a verdict without points because the checking code failed or was tampered with."""
    record = output.get("data", {}).get(MIME)
    return isinstance(record, dict) and record.get("state") == VerdictState.OUR_ERROR


def scores_of(notebook: NotebookNode) -> NotebookScores:
    """Return the scores and nbgrader's comments of a notebook that has been run."""
    found = NotebookScores()
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name and (is_grade(cell) or is_task(cell)):
            found.scores[name] = score_of(cell)
        if name and (is_solution(cell) or is_task(cell)):
            found.comments[name] = comment_on(cell)
    return found
