"""The command `autograder grade --again EXERCISE`: regrading after a fix.

Every submission is run again, and changes are listed. Nothing is written without `apply`, no score is lowered without
`lower`, and manual grades are always kept.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode

from ..errors import UserError
from .batch import Batch, open_book
from .course.folders import locked, write_notebook
from .course.gradebook import Book
from .course.settings import CourseSettings
from .submission.pipeline import GradedSubmission
from .submission.scores import Score


@dataclass(frozen=True)
class Change:
    """The effect of regrading on one student.

    `done` is "raised", "lowered", "kept" (it would be lowered) or empty (nothing was written). `why` is the reason if
    the answer could not be judged.
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
    course: CourseSettings,
    assignment: str,
    exercise: str,
    executor: Executor,
    *,
    isolation: str | None = None,
    ahead: int,
    apply: bool,
    lower: bool,
) -> list[Change]:
    """Return the changes, and with `apply` write them. Raises UserError, CannotIsolate and BookClosed."""
    name = f"check-{exercise}"
    with locked(course.root, assignment), open_book(course) as book:
        batch = Batch(course, assignment, isolation, book)
        before = book.points(assignment, name)
        if not before:
            raise UserError(f"nobody has a grade for {exercise} in {assignment}: is that its name, and was it graded?")
        folders = [folder for folder in course.submissions(assignment) if folder.parent.name in before]
        changes: list[Change] = []
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


def _change(graded: GradedSubmission, name: str, old: float) -> Change | None:
    student = graded.result.student
    if graded.result.state == "failed":
        return Change(student, old, old, why="; ".join(graded.result.reasons))
    score = _score(graded, name)
    if score is None or score.points is None or score.points == old:
        return None
    return Change(student, old, score.points)


def _score(graded: GradedSubmission, name: str) -> Score | None:
    return next((found.scores[name] for found in graded.scores.values() if name in found.scores), None)


def _make(
    change: Change, graded: GradedSubmission, name: str, book: Book, course: CourseSettings, assignment: str
) -> Change:
    """Write the score, then the card into the autograded notebook. If killed in between, only the card is outdated."""
    score = _score(graded, name)
    assert score is not None
    book.rescore(assignment, change.student, name, score)
    for file_name, notebook in graded.notebooks.items():
        cell = _cell(notebook, name)
        if cell is not None:
            _put(course.autograded(assignment, change.student) / f"{file_name}.ipynb", name, cell)
    return replace(change, done="raised" if change.new > change.old else "lowered")


def _cell(notebook: NotebookNode, name: str) -> NotebookNode | None:
    found = (cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return next(found, None)


def _put(path: Path, name: str, cell: NotebookNode) -> None:
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
