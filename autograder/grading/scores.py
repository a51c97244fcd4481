"""How the score of a check is taken from its cell: from the verdict, and from nothing else."""

from __future__ import annotations

import re
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveAutoGrades
from nbgrader.utils import is_grade, is_solution

from ..language import Text
from ..verdict import MIME

_CHECK = re.compile(r"^check\(.+\)\s*\Z", re.M)
_NO_VERDICT = Text(
    "The check gave no verdict, so it earns nothing. Most likely the answer replaced `check` or stopped the kernel.",
    "Проверка не дала результата, поэтому баллов нет. Скорее всего, ответ заменил собой `check` или остановил ядро.",
)


class SaveVerdicts(SaveAutoGrades):  # type: ignore[misc]
    """nbgrader's own, for which a check has points only through a verdict.

    nbgrader gives full points to a graded cell that shows nothing and none to one with any text on stderr. Here the
    verdict goes before the other outputs of a check, where it is read first, and a check without one gets an error.
    Cells that do not end in a call of `check`, as in an assignment of the instructor's own, keep nbgrader's rules.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        for cell in nb.cells:
            if is_check(cell):
                cell.outputs = verdict_first(cell)
        nb, resources = super().preprocess(nb, resources)
        self._forget_deleted(nb)
        return nb, resources

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
    """Is this a graded cell that ends in `check(...)`? nbgrader has put its source back before."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell) and bool(_CHECK.search(cell.source))


def verdict_first(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of a check, the verdict before the rest; an error before them all when there is none."""
    verdicts = [output for output in cell.outputs if _is_verdict(output, float(cell.metadata.nbgrader.points))]
    others = [output for output in cell.outputs if output not in verdicts]
    if len(verdicts) == 1:
        return [*verdicts, *others]
    if any(output.output_type == "error" for output in others):
        return sorted(others, key=lambda output: output.output_type != "error")
    return [new_output("error", ename="NoVerdict", evalue="", traceback=_NO_VERDICT.read(None).splitlines()), *others]


def _is_verdict(output: NotebookNode, maximum: float) -> bool:
    """Has this output our record and, beside it, a number of points that the cell can have?"""
    if output.output_type != "execute_result" or MIME not in output.data:
        return False
    try:
        return 0 <= float(output.data.get("text/plain", "")) <= maximum
    except ValueError:
        return False
