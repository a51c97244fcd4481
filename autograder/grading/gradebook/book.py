"""Access to nbgrader's database of grades, one transaction per submission."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from ..files.nbgrader_files import utc_time
from ..rules.late_penalty import LatePenalty, apply_penalty, no_penalty
from .database import LockedElsewhere, database_message, is_temporary
from .released_notebooks import Released, ReleasedNotebook, ReleasedNotebooks
from .removal import describe_submission, remove_submission, restore_submission
from .rows import AssignmentLayout, NotebookLayout, Rows, layout_of
from .scores import NotebookScores, Score
from .standings import StudentStanding, student_standings

_T = TypeVar("_T")
PATIENCE = 20.0  # seconds to wait while another process locks the gradebook


class BookClosed(Exception):
    """An error: the gradebook cannot be written.

    The message is the database's.
    """


class Book:
    """An open gradebook of one course, read and written for grading.

    `penalty` is the course's rule for late penalties (see `late_penalty`). `extensions` maps a student to a dict from
    assignment to additional time.
    """

    def __init__(
        self,
        gradebook: Gradebook,
        penalty: LatePenalty = no_penalty,
        extensions: Mapping[str, Mapping[str, timedelta]] | None = None,
    ) -> None:
        self._gradebook, self._db, self._penalty = gradebook, gradebook.db, penalty
        self._extensions = extensions or {}
        self._layouts: dict[str, AssignmentLayout] = {}
        self._patience = PATIENCE

    def try_to_write(self) -> None:
        """Raise BookClosed if the gradebook is read-only.

        If another process locks the gradebook at the moment, nothing is raised.
        """
        try:
            self._db.execute(text("UPDATE assignment SET name = name WHERE 1 = 0"))
        except SQLAlchemyError as error:
            if not is_temporary(error):
                raise BookClosed(database_message(error)) from error
        finally:
            self._db.rollback()

    def has(self, assignment: str) -> bool:
        """Return whether the gradebook has an assignment. Leaves no transaction open."""
        try:
            self._gradebook.find_assignment(assignment)
        except MissingEntry:
            return False
        finally:
            self._db.rollback()
        return True

    def released(self, assignment: str) -> ReleasedNotebooks:
        """Return a dict from released name to notebook, for the released notebooks of an assignment.

        Raises MissingEntry if the gradebook lacks the assignment.
        """
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

    def is_due(self, assignment: str) -> bool:
        """Return whether an assignment has a due date.

        Raises MissingEntry if the gradebook lacks the assignment.
        """
        return self._gradebook.find_assignment(assignment).duedate is not None

    def set_missing_due_date(self, assignment: str, due: datetime | None) -> None:
        """Set the due date of an assignment that has none. Does nothing if `due` is None.

        An assignment may have been released after the rules were applied.
        Raises MissingEntry if the gradebook lacks the assignment, BookClosed if it cannot be written.
        """
        if due and not self.is_due(assignment):
            self._commit(lambda: self._set_due_date(assignment, due))

    def _set_due_date(self, assignment: str, due: datetime) -> None:
        self._gradebook.find_assignment(assignment).duedate = due.astimezone(UTC).replace(tzinfo=None)

    def due_dates(self) -> dict[str, datetime]:
        """Return a dict from assignment to due date, in UTC without a time zone.

        Assignments without a due date are left out.
        """
        return {each.name: each.duedate for each in self._gradebook.assignments if each.duedate}

    def standings(self, assignment: str) -> dict[str, StudentStanding]:
        """Return a dict from student to points and state of review, for all submissions in the gradebook."""
        return student_standings(self._db, assignment)

    def write(
        self,
        assignment: str,
        student: str,
        timestamp: str | None,
        notebooks: Mapping[str, NotebookScores],
        flags: Mapping[str, bool | None],
    ) -> float:
        """Write the grades of one submission and return its score in points. Manual grades are kept.

        `timestamp` is the time of submission. `notebooks` maps notebook names to new scores. `flags` maps notebook
        names to whether formgrader shows a flag on the notebook. If this is None, the notebook keeps its flag.
        If a cell has a manual score, formgrader asks for another review of the cell, unless the answer is unchanged. A
        late submission gets a penalty.
        Raises BookClosed if the gradebook cannot be written. Nothing is written then.
        """
        return self._commit(lambda: self._write(assignment, student, timestamp, notebooks, flags))

    def update_penalty(self, assignment: str, student: str) -> tuple[float, float]:
        """Compute the late penalty of a submission anew, from due date, extension and scores.

        Returns the old and the new penalty in points. Nothing else changes.
        Raises BookClosed if the gradebook cannot be written.
        """
        return self._commit(lambda: self._update_penalty(assignment, student))

    def add_names(self, names: Mapping[str, str]) -> None:
        """Write names of students for formgrader and the report. `names` maps ids to names. Empty names change nothing.

        Raises BookClosed if the gradebook cannot be written.
        """
        self._commit(lambda: self._add_names(names))

    def _add_names(self, names: Mapping[str, str]) -> None:
        for student in self._db.query(Student):
            name = names.get(student.id, "")
            if name not in ("", student.id, " ".join(filter(None, (student.first_name, student.last_name)))):
                first, _, student.last_name = name.rpartition(" ")
                student.first_name = first or None

    def _commit(self, work: Callable[[], _T]) -> _T:
        """Call `work` in one transaction, and return its result.

        `work` is called again while the gradebook is locked, and after a lost connection, for at most `PATIENCE`
        seconds. After a failure each later transaction is tried only once, until one succeeds.
        Raises BookClosed if the gradebook cannot be written.
        """
        until = time.monotonic() + self._patience
        while True:
            try:
                done = work()
                self._db.commit()
            except (SQLAlchemyError, LockedElsewhere) as error:
                self._db.rollback()
                if not is_temporary(error) or time.monotonic() > until:
                    self._patience = 0.0
                    raise BookClosed(database_message(error)) from error
                time.sleep(0.2)
            except BaseException:
                self._db.rollback()
                raise
            else:
                self._patience = PATIENCE
                return done

    def describe(self, assignment: str, student: str) -> dict[str, Any]:
        """Return a student's points and comments (see `describe_submission`)."""
        return describe_submission(self._gradebook, assignment, student)

    def remove(self, assignment: str, student: str) -> None:
        """Delete a student's submission with grades and comments. Does nothing if there is none.

        Raises BookClosed if the gradebook cannot be written.
        """
        self._commit(lambda: remove_submission(self._gradebook, assignment, student))

    def restore(self, assignment: str, student: str, said: Mapping[str, Any]) -> None:
        """Add a submission with points and comments (see `restore_submission`), and compute its late penalty.

        Raises BookClosed if the gradebook cannot be written.
        """
        self._commit(lambda: restore_submission(self._gradebook, assignment, student, said))
        self.update_penalty(assignment, student)

    def points(self, assignment: str, name: str) -> dict[str, float]:
        """Return a dict from student to the automatic score of one graded cell, 0 if the cell has none.

        `name` is the cell's grade id.
        """
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
        """Set the automatic score of one cell in a student's submission. `name` is the cell's grade id.

        A manual score is kept. Raises BookClosed if the gradebook cannot be written.
        """
        self._commit(lambda: self._rescore(assignment, student, name, score))

    def _rescore(self, assignment: str, student: str, name: str, score: Score) -> None:
        submission = self._gradebook.find_submission(assignment, student)
        for grade in [grade for notebook in submission.notebooks for grade in notebook.grades]:
            if grade.cell.name == name:
                grade.auto_score = score.points
                grade.needs_manual_grade = score.waits or grade.manual_score is not None
        self._db.flush()
        self._update_penalty(assignment, student)

    def _update_penalty(self, assignment: str, student: str) -> tuple[float, float]:
        submission, rows = self._gradebook.find_submission(assignment, student), Rows(self._db)
        before = sum(each.late_submission_penalty or 0.0 for each in submission.notebooks)
        graded = {notebook.id: notebook.graded for notebook in self._layout(assignment).notebooks}
        scores = {each.id: rows.score(each.id, graded[each.notebook_id]) for each in submission.notebooks}
        apply_penalty(submission, student, scores, self._penalty)
        return before, sum(each.late_submission_penalty or 0.0 for each in submission.notebooks)

    def _write(
        self,
        assignment: str,
        student: str,
        timestamp: str | None,
        notebooks: Mapping[str, NotebookScores],
        flags: Mapping[str, bool | None],
    ) -> float:
        wanted, rows = self._layout(assignment), Rows(self._db)
        rows.ensure(Student, id=student)
        submission = rows.ensure(SubmittedAssignment, assignment_id=wanted.id, student_id=student)
        if timestamp:
            rows.change(SubmittedAssignment, submission, timestamp=utc_time(timestamp).replace(tzinfo=None))
        if extension := self._extensions.get(student, {}).get(assignment):
            rows.change(SubmittedAssignment, submission, extension=extension)
        scores: dict[str, float] = {}
        for each in wanted.notebooks:
            result = notebooks.get(each.name, NotebookScores(handed_in=False))
            submitted = rows.ensure(SubmittedNotebook, notebook_id=each.id, assignment_id=submission)
            grades = rows.of(Grade, submitted, each.graded)
            rows.put(Grade, submitted, grades, _grades(each, result, grades))
            comments = {cell: {"auto_comment": result.comments.get(name)} for cell, name in each.commented.items()}
            rows.put(Comment, submitted, rows.of(Comment, submitted, comments), comments)
            scores[submitted] = rows.score(submitted, each.graded)
            flag = flags.get(each.name)
            if flag is not None:
                rows.change(SubmittedNotebook, submitted, flagged=flag)
            if not wanted.due:
                rows.change(SubmittedNotebook, submitted, late_submission_penalty=None)
        if wanted.due:
            stored = self._db.get(SubmittedAssignment, submission, populate_existing=True)
            apply_penalty(stored, student, scores, self._penalty)
        return sum(scores.values())

    def _layout(self, assignment: str) -> AssignmentLayout:
        if assignment not in self._layouts:
            self._layouts[assignment] = layout_of(self._db, assignment)
        return self._layouts[assignment]


def _grades(notebook: NotebookLayout, result: NotebookScores, there: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a dict from a cell's database id to the values to write into its row of the table `grade`.

    `result` has the new scores of the notebook. `there` maps database ids of cells to the existing rows.
    """
    grades = {}
    for cell, name in notebook.graded.items():
        score = result.scores.get(name, Score(0.0, False))
        waits = score.waits
        if result.handed_in and cell in there and there[cell].manual_score is not None:
            # A manual grade exists. Only a changed answer needs another review.
            waits = there[cell].needs_manual_grade if name in result.same else True
        grades[cell] = {"auto_score": score.points, "needs_manual_grade": waits}
    return grades
