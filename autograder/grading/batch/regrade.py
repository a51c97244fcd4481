"""The command `autograder grade --again EXERCISE`: grading again after a fix.

Every submission is run again, and the changed scores of one exercise are listed. Nothing is written unless `apply` is
True. No score is lowered unless `lower` is also True. Manual grades are always kept.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ..course.course import Course
from ..files.locks import locked
from ..files.notebook_file import write_notebook
from ..gradebook.book import Book
from ..gradebook.scores import Score
from ..submission.pipeline import GradedSubmission, State
from ..wall_kinds import Wall
from .batch import Batch


@dataclass(frozen=True)
class ChangedResult:
    """The old and new score of one student, in points.

    If the answer could not be graded, `why` is the reason. `done` tells what was written:
    - "raised" or "lowered": the new score;
    - "kept": nothing, because the new score is lower;
    - an empty text: nothing, because scores are only listed or `why` is set.
    """

    student: str
    old: float
    new: float
    done: str = ""
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"{self.student}: {self.old:g} kept, not judged: {self.why}"
        return f"{self.student}: {self.old:g} -> {self.new:g}" + (f", {self.done}" if self.done else "")


def grade_again(
    course: Course,
    assignment: str,
    exercise: str,
    executor: Executor,
    *,
    isolation: Wall | None = None,
    ahead: int,
    apply: bool,
    lower: bool,
) -> list[ChangedResult]:
    """Grade one exercise of every submission again, and return the changes, sorted by student.

    If `apply` is True, higher scores are written. If `lower` is also True, lower scores are written, too. `isolation`
    overrides the course's setting. At most `ahead` submissions run or wait for the caller at a time.
    Raises UserError if nothing can be graded, CannotIsolate if the kernel refuses isolation, BookClosed if the
    gradebook cannot be written.
    """
    name = GradeId.of(CellKind.CHECK, exercise)
    with locked(course.root, assignment), course.locked_book(assignment) as book:
        batch = Batch(course, assignment, isolation, book)
        before = book.points(assignment, name)
        if not before:
            raise UserError(f"nobody has a grade for {exercise} in {assignment}: is that its name, and was it graded?")
        folders = [folder for folder in course.submissions(assignment) if folder.parent.name in before]
        changes: list[ChangedResult] = []
        for graded in batch.run(folders, executor, ahead):
            change = _change(graded, name, before[graded.result.student])
            if change and apply and not change.why:
                allowed = lower or change.new > change.old
                change = (
                    _make(change, graded, name, book, course, assignment) if allowed else replace(change, done="kept")
                )
            if change:
                changes.append(change)
    return sorted(changes, key=lambda change: change.student)


def _change(graded: GradedSubmission, name: str, old: float) -> ChangedResult | None:
    """Return the change of a student's score, or None if the score is the same.

    If the submission could not be graded, the change holds the reason. `name` is the grade id of the exercise's check,
    and `old` the score in the gradebook.
    """
    student = graded.result.student
    if graded.result.state is State.FAILED:
        return ChangedResult(student, old, old, why="; ".join(graded.result.said))
    score = _score(graded, name)
    if score is None or score.points is None or score.points == old:
        return None
    return ChangedResult(student, old, score.points)


def _score(graded: GradedSubmission, name: str) -> Score | None:
    """Return the new score of the check with the grade id `name`, or None if the notebook lacks the check."""
    return next((found.scores[name] for found in graded.scores.values() if name in found.scores), None)


def _make(
    change: ChangedResult, graded: GradedSubmission, name: str, book: Book, course: Course, assignment: str
) -> ChangedResult:
    """Write a changed score into the gradebook, then the check's new output into the graded notebook.

    `name` is the check's grade id. If the grader is killed between the two steps, only the notebook's output is
    outdated. Returns the change with `done` set.
    """
    score = _score(graded, name)
    assert score is not None
    book.rescore(assignment, change.student, name, score)
    for file_name, notebook in graded.notebooks.items():
        cell = _cell(notebook, name)
        if cell is not None:
            _put(course.autograded(assignment, change.student) / f"{file_name}.ipynb", name, cell)
    return replace(change, done="raised" if change.new > change.old else "lowered")


def _cell(notebook: NotebookNode, name: str) -> NotebookNode | None:
    """Return the cell with the grade id `name`, or None if the notebook lacks the cell."""
    found = (cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return next(found, None)


def _put(path: Path, name: str, cell: NotebookNode) -> None:
    """Replace the outputs of one cell in the notebook file `path` by the outputs of `cell`.

    `name` is the grade id of the cell to change. If the file or the cell is missing, nothing happens.
    """
    if not path.is_file():
        return
    notebook = nbformat.read(path, as_version=4)
    old = _cell(notebook, name)
    if old is None:
        return
    old.outputs, old.execution_count = cell.outputs, cell.execution_count
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    write_notebook(draft, notebook)
    draft.chmod(0o444)
    draft.replace(path)
