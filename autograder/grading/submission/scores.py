"""How the score of a graded cell is taken from its outputs: of a check, from its verdict and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveAutoGrades
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task

from ...authoring.source import CHECK
from ...checking.verdict import MIME
from ...language import Text
from .outputs import output

_NO_VERDICT = Text(
    "The check gave no verdict, so it earns nothing. Most likely the answer replaced `check` or stopped the kernel.",
    "Проверка не дала результата, поэтому баллов нет. Скорее всего, ответ заменил собой `check` или остановил ядро.",
)


@dataclass(frozen=True)
class Score:
    """Of one graded cell: points, or None where a person has to give them; `waits` for a person in any case."""

    points: float | None
    waits: bool


@dataclass
class NotebookScores:
    """What is written about one notebook of a submission, by grade id. A cell that is not named is not there."""

    scores: dict[str, Score] = field(default_factory=dict)
    comments: dict[str, str | None] = field(default_factory=dict)
    handed_in: bool = True
    same: frozenset[str] = frozenset()  # cells whose answers are those that were graded before


def score_of(cell: NotebookNode) -> Score:
    """The score of a graded cell that has been run.

    nbgrader gives full points to a graded cell that shows nothing and none to one with any text on stderr. Here the
    verdict of a check goes before its other outputs, where it is read first, and a check without one gets an error.
    Cells that do not end in a call of `check`, as in an assignment of the instructor's own, keep nbgrader's rules.
    """
    if is_check(cell):
        cell.outputs = verdict_first(cell)
    points, _ = determine_grade(cell)
    return Score(points, points is None or any(_is_fault(output) for output in cell.get("outputs", [])))


def comment_on(cell: NotebookNode) -> str | None:
    """nbgrader's comment on an answer that is still what was handed out."""
    untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) and not is_task(cell)
    return "No response." if untouched else None


class SaveVerdicts(SaveAutoGrades):  # type: ignore[misc]
    """nbgrader's own, with the scores from `score_of`."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        self._forget_deleted(nb)
        return nb, resources

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        name = cell.metadata.nbgrader.grade_id
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        score = score_of(cell)
        grade.auto_score = score.points
        grade.needs_manual_grade = score.waits or grade.manual_score is not None
        self.gradebook.db.commit()

    def _forget_deleted(self, nb: NotebookNode) -> None:
        """A cell deleted since an earlier submission keeps none of the points it had, and waits for a person."""
        here = {cell.metadata.nbgrader.get("grade_id") for cell in nb.cells if is_grade(cell)}
        with Gradebook(self.db_url) as gradebook:
            submitted = gradebook.find_submission_notebook(self.notebook_id, self.assignment_id, self.student_id)
            for grade in submitted.grades:
                if grade.name not in here:
                    self.log.warning(
                        "%s deleted the graded cell %s: it waits for a person", self.student_id, grade.name
                    )
                    grade.auto_score, grade.needs_manual_grade = 0, True
            gradebook.db.commit()


def is_check(cell: NotebookNode) -> bool:
    """Is this a graded cell that ends in `check(...)`? Its source has been put back before."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell) and bool(CHECK.search(cell.source))


def verdict_first(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of a check, the verdict before the rest; an error before them all when there is none."""
    verdicts = [output for output in cell.outputs if _is_verdict(output, float(cell.metadata.nbgrader.points))]
    others = [output for output in cell.outputs if output not in verdicts]
    if len(verdicts) == 1:
        return [*verdicts, *others]
    if any(output.output_type == "error" for output in others):
        return sorted(others, key=lambda output: output.output_type != "error")
    return [output("error", ename="NoVerdict", evalue="", traceback=_NO_VERDICT.read(None).splitlines()), *others]


def _is_verdict(output: NotebookNode, maximum: float) -> bool:
    """Has this output our record and, beside it, a number of points that the cell can have?"""
    if output.output_type != "execute_result" or MIME not in output.data:
        return False
    try:
        return 0 <= float(output.data.get("text/plain", "")) <= maximum
    except ValueError:
        return False


def _is_fault(output: NotebookNode) -> bool:
    """Is it a verdict that says that the checker failed, or was tampered with?"""
    record = output.get("data", {}).get(MIME)
    return isinstance(record, dict) and record.get("state") == "our error"


def scores_of(notebook: NotebookNode) -> NotebookScores:
    """What a graded notebook earns, cell by cell."""
    found = NotebookScores()
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name and (is_grade(cell) or is_task(cell)):
            found.scores[name] = score_of(cell)
        if name and (is_solution(cell) or is_task(cell)):
            found.comments[name] = comment_on(cell)
    return found
