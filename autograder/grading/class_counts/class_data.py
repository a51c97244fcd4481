"""Collection of the class report's data from gradebook, graded notebooks and lessons."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import BaseCell, Grade, MissingEntry, SubmittedAssignment, SubmittedNotebook

from ...errors import UserError
from ...language import Text
from ...messages.reasons import describe_reason
from ..collecting.unplaced import count_unplaced
from ..course.course import Course
from ..course.hidden_cases import lesson_of
from ..files.notebook_file import Unreadable, read_notebook
from ..gradebook.standings import StudentStanding, student_standings
from .counts import Answered, Graded

_NOT_GRADED = Text("handed in, but not graded yet", "работа сдана, но ещё не проверена")
_NOT_IN_BOOK = Text(
    "autograded, but the gradebook has no scores: grade it again",
    "проверена, но в журнале нет оценок: запустите проверку ещё раз",
)


def count_class(course: Course, assignment: str) -> Graded:
    """Return the data of the class report on an assignment.

    Raises UserError with the remedy if there is no graded submission.
    """
    folders = {folder.parent.name: folder for folder in course.graded(assignment)}
    if not folders:
        raise UserError(
            f"nothing of {assignment} has been graded in {course.root}: run `autograder grade {course.root} "
            f"{assignment}` first (graded are: {', '.join(course.graded_assignments()) or 'none'})"
        )
    stored = _from_gradebook(course, assignment)
    graded, names = Graded(assignment, stored.maximum, names=stored.names), stored.notebooks
    remarks = course.remarks(assignment).read_all()
    flagged = {student for student, standing in stored.standings.items() if standing.flagged}
    said = {student: found.everything for student, found in remarks.items() if found.failed or student in flagged}
    for name in names:
        lesson = lesson_of(course.root, name)
        if lesson:
            graded.lessons.append(lesson[0])
            ordered = {n: lesson[1][n] for n, _ in lesson[0].with_role("check")}
            graded.exercises |= {n: Answered(exercise) for n, exercise in ordered.items()}
    for student, folder in folders.items():
        page = _page(course.feedback(assignment, student), folder, names)
        if page:
            graded.pages[student] = page
        if (standing := stored.standings.get(student)) is None:
            graded.unread[student] = _NOT_IN_BOOK
            continue
        try:
            cells = {grade_id: cell for path in _notebooks(folder, names) for grade_id, cell in _cells(path)}
        except Unreadable as error:
            graded.unread[student] = describe_reason(error.reason)
            continue
        graded.scores[student] = max(0.0, standing.score - standing.penalty)
        graded.penalties[student] = standing.penalty
        graded.add(student, cells, stored.waiting.get(student, {}))
    for folder in course.submissions(assignment):
        if folder.parent.name not in folders:
            why = [describe_reason(reason) for reason in said.get(folder.parent.name, [])]
            told = Text("; ".join(each.en for each in why), "; ".join(each.ru for each in why))
            graded.unread[folder.parent.name] = told if why else _why_not(folder, names)
    roster = {student.id: student.name for student in course.roster.students}
    graded.idle = sorted((roster or graded.names).keys() - folders.keys() - graded.unread.keys())
    graded.unplaced = count_unplaced(course.root)
    graded.names |= {student: name for student, name in roster.items() if name}
    graded.remarks = {student: reasons for student, reasons in said.items() if reasons and student in graded.scores}
    graded.places = {
        student: found.seen
        for student, found in remarks.items()
        if found.seen and student in flagged and student in graded.scores
    }
    return graded


@dataclass
class _Stored:
    """The contents of the gradebook on one assignment.

    `waiting` has a dict for each student. It maps the grade id of a cell that needs manual grading to whether the cell
    already has a manual score.
    """

    maximum: float
    notebooks: list[str]
    names: dict[str, str]  # of all students
    standings: dict[str, StudentStanding]
    waiting: dict[str, dict[str, bool]]


def _from_gradebook(course: Course, assignment: str) -> _Stored:
    """Return the contents of the gradebook. Raises UserError if it cannot be read or lacks the assignment."""
    try:
        with course.gradebook() as book:
            wanted = book.find_assignment(assignment)
            waiting: dict[str, dict[str, bool]] = defaultdict(dict)
            for student, cell, manual in (
                book.db.query(SubmittedAssignment.student_id, BaseCell.name, Grade.manual_score)
                .select_from(Grade)
                .join(BaseCell, Grade.cell_id == BaseCell.id)
                .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
                .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                .filter(SubmittedAssignment.assignment_id == wanted.id, Grade.needs_manual_grade)
            ):
                waiting[student][cell] = manual is not None
            notebooks = sorted(notebook.name for notebook in wanted.notebooks)
            names = {each.id: " ".join(filter(None, (each.last_name, each.first_name))) for each in book.students}
            return _Stored(float(wanted.max_score), notebooks, names, student_standings(book.db, assignment), waiting)
    except MissingEntry as missing:
        raise UserError(
            f"the gradebook of {course.root} has no assignment {assignment}: "
            f"`autograder grade {shlex.quote(str(course.root))} {shlex.quote(assignment)}` adds it"
        ) from missing


def _page(feedback: Path, autograded: Path, names: list[str]) -> Path | None:
    """Return the path of the file that the report links to: a feedback page, else a graded notebook.

    `feedback` and `autograded` are the student's folders, `names` the notebooks' names. Returns None if there is no
    such file in these folders.
    """
    pages = [feedback / f"{name}.html" for name in names]
    return next((path for path in [*pages, *_notebooks(autograded, names)] if path.is_file()), None)


def _notebooks(folder: Path, names: list[str]) -> list[Path]:
    """Return the paths of the graded notebooks in `folder`. `names` are the notebooks' names.

    If the folder has no graded notebook, returns the path where the first one should be. An error can then name this
    path.
    """
    paths = [folder / f"{name}.ipynb" for name in names]
    return [path for path in paths if path.exists()] or paths[:1]


def _cells(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield pairs of grade id and cell, as JSON, for each cell with a grade id.

    Raises Unreadable if the notebook is invalid.
    """
    for cell in read_notebook(path)["cells"]:
        match cell:
            case {"metadata": {"nbgrader": {"grade_id": str(grade_id)}}}:
                yield grade_id, cell


def _why_not(folder: Path, names: list[str]) -> Text:
    """Return a sentence in both languages that tells why a submission has no graded notebook."""
    try:
        for path in _notebooks(folder, names):
            read_notebook(path)
    except Unreadable as error:
        return describe_reason(error.reason)
    return _NOT_GRADED
