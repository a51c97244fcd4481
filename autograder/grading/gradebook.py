"""nbgrader's gradebook, read and written through nbgrader's own models: a submission in one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.utils import parse_utc
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from .sanitize import Released
from .scores import Score

PATIENCE = 20.0  # seconds that a gradebook may be locked by somebody else


class BookClosed(Exception):
    """The gradebook cannot be written: what the database says."""


@dataclass(frozen=True)
class ReleasedNotebook:
    """A notebook of an assignment, as it was handed out."""

    cells: dict[str, Released]
    kernel: dict[str, Any] | None


@dataclass
class NotebookScores:
    """What is written about one notebook of a submission, by grade id. A cell that is not named is not there."""

    scores: dict[str, Score] = field(default_factory=dict)
    comments: dict[str, str | None] = field(default_factory=dict)
    handed_in: bool = True


class Book:
    """One course's gradebook, open. `penalty(student, score, seconds late)` is nbgrader's late penalty."""

    def __init__(self, gradebook: Gradebook, penalty: Any) -> None:
        self._gradebook, self._db, self._penalty = gradebook, gradebook.db, penalty
        self._names: dict[
            str, str
        ] = {}  # of cells by their ids: an assignment's cells do not change while it is graded
        self._patience = PATIENCE

    def try_to_write(self) -> None:
        """Raises BookClosed when nothing can ever be written; a lock may still be released."""
        try:
            self._db.execute(text("UPDATE assignment SET name = name WHERE 1 = 0"))
        except SQLAlchemyError as error:
            if not _passes(error):
                raise BookClosed(_said(error)) from error
        finally:
            self._db.rollback()

    def released(self, assignment: str) -> dict[str, ReleasedNotebook]:
        """The notebooks of an assignment by name. Raises MissingEntry when nothing of that name was generated."""
        found: dict[str, ReleasedNotebook] = {}
        for notebook in self._gradebook.find_assignment(assignment).notebooks:
            points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
            points |= {cell.name: float(cell.max_score) for cell in notebook.task_cells}
            solutions = {cell.name for cell in notebook.solution_cells}
            tasks = {cell.name for cell in notebook.task_cells}
            cells = {
                cell.name: Released(
                    cell.cell_type,
                    cell.source or "",
                    cell.checksum,
                    bool(cell.locked),
                    points.get(cell.name),
                    cell.name in solutions,
                    cell.name in tasks,
                )
                for cell in notebook.source_cells
            }
            found[notebook.name] = ReleasedNotebook(cells, json.loads(notebook.kernelspec or "null"))
        return found

    def graded(self, assignment: str) -> set[str]:
        """The students of whom the gradebook has a submission."""
        try:
            return {submission.student_id for submission in self._gradebook.find_assignment(assignment).submissions}
        except MissingEntry:
            return set()

    def write(
        self, assignment: str, student: str, timestamp: str | None, notebooks: Mapping[str, NotebookScores]
    ) -> float:
        """Write one submission; what a person gave stays. Returns the score. Raises BookClosed, having written nothing.

        As nbgrader has it: a cell with a manual score is marked for another look, a late one gets its penalty.
        A lock is waited for; after one that lasted too long, no other is until one is released.
        """
        until = time.monotonic() + self._patience
        while True:
            try:
                score = self._write(assignment, student, timestamp, notebooks)
                self._db.commit()
            except SQLAlchemyError as error:
                self._db.rollback()
                if not _passes(error) or time.monotonic() > until:
                    self._patience = 0.0
                    raise BookClosed(_said(error)) from error
                time.sleep(0.2)
            except BaseException:
                self._db.rollback()
                raise
            else:
                self._patience = PATIENCE
                return score

    def points(self, assignment: str, name: str) -> dict[str, float]:
        """By student, the automatic score that a graded cell has now."""
        rows = (
            self._db.query(SubmittedAssignment.student_id, Grade.auto_score)
            .select_from(Grade)
            .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
            .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
            .join(BaseCell, Grade.cell_id == BaseCell.id)
            .filter(Assignment.name == assignment, BaseCell.name == name)
        )
        return {student: score or 0.0 for student, score in rows}

    def rescore(self, assignment: str, student: str, name: str, score: Score) -> None:
        """Give one graded cell of a submission another automatic score; a manual one stays. Raises BookClosed."""
        try:
            submission = self._gradebook.find_submission(assignment, student)
            for grade in [grade for notebook in submission.notebooks for grade in notebook.grades]:
                if grade.cell.name == name:
                    grade.auto_score = score.points
                    grade.needs_manual_grade = score.waits or grade.manual_score is not None
            self._settle(submission, student)
            self._db.commit()
        except SQLAlchemyError as error:
            self._db.rollback()
            raise BookClosed(_said(error)) from error

    def _write(
        self, assignment: str, student: str, timestamp: str | None, notebooks: Mapping[str, NotebookScores]
    ) -> float:
        submission = self._submission(assignment, student)
        if not self._names:
            self._names = {cell.id: cell.name for cell in self._db.query(BaseCell)}
        if timestamp:
            submission.timestamp = parse_utc(timestamp)
        for submitted in submission.notebooks:
            result = notebooks.get(submitted.notebook.name, NotebookScores(handed_in=False))
            for grade in submitted.grades:
                score = result.scores.get(self._names[grade.cell_id], Score(0.0, result.handed_in))
                grade.auto_score = score.points
                grade.needs_manual_grade = score.waits or (result.handed_in and grade.manual_score is not None)
            for comment in submitted.comments:
                comment.auto_comment = result.comments.get(self._names[comment.cell_id])
        self._settle(submission, student)
        return float(submission.score)

    def _settle(self, submission: SubmittedAssignment, student: str) -> None:
        """The late penalty that follows from the scores."""
        self._db.flush()
        late = submission.total_seconds_late
        for submitted in submission.notebooks:
            self._db.refresh(submitted, ["score"])  # sums are columns that the database computes
            owed = self._penalty(student, submitted.score, late) if late > 0 else None
            submitted.late_submission_penalty = None if owed is None else min(max(owed, 0), submitted.score)
        self._db.flush()
        self._db.refresh(submission, ["score"])

    def _submission(self, assignment: str, student: str) -> SubmittedAssignment:
        """The submission, as `Gradebook.add_submission` makes one, but left uncommitted."""
        if self._db.get(Student, student) is None:
            self._db.add(Student(id=student))
        wanted = self._db.query(Assignment).filter(Assignment.name == assignment).one()
        found = (
            self._db.query(SubmittedAssignment)
            .filter(SubmittedAssignment.assignment_id == wanted.id, SubmittedAssignment.student_id == student)
            .one_or_none()
        )
        if found is None:
            found = SubmittedAssignment(assignment=wanted, student_id=student)
            self._db.add(found)
        there = {submitted.notebook_id for submitted in found.notebooks}
        for notebook in wanted.notebooks:
            if notebook.id not in there:
                self._add_notebook(found, notebook)
        self._db.flush()
        return found

    def _add_notebook(self, submission: SubmittedAssignment, notebook: Notebook) -> None:
        submitted = SubmittedNotebook(notebook=notebook, assignment=submission)
        for cell in notebook.grade_cells:
            Grade(cell_id=cell.id, notebook=submitted)
        for cell in notebook.solution_cells:
            Comment(cell_id=cell.id, notebook=submitted)
        for cell in notebook.task_cells:
            Grade(cell_id=cell.id, notebook=submitted)
            Comment(cell_id=cell.id, notebook=submitted)
        self._db.add(submitted)


def _passes(error: SQLAlchemyError) -> bool:
    """Does it come from somebody else's writing, who will have done some time?"""
    return "locked" in str(error) or isinstance(error, IntegrityError)


def _said(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]
