"""Points of exercises that `course.toml` changes after students were graded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Assignment

from ...checking.verdict import MIME, Verdict
from ...grade_ids import CellKind, GradeId
from ...language import decimal
from ...lessons.notebooks import source_notebook
from ..course.course import Course
from ..course.hidden_cases import lesson_of
from ..files.notebook_file import Unreadable, read_notebook
from ..rules.applied_rules import CourseRules


@dataclass(frozen=True)
class PointChange:
    """Other points for one graded cell.

    `cell` is nbgrader's object in the gradebook, `after` its new maximum.
    """

    cell: Any
    after: float


def point_changes(course: Course, db: Any, old: CourseRules, new: CourseRules) -> dict[str, list[PointChange]]:
    """Return the graded cells whose points differ between the rules `old` and `new`, by assignment.

    `db` is the gradebook's session. What the gradebook states by now is no change. Points that an instructor has set in
    `source/` are no rule.
    """
    found: dict[str, list[PointChange]] = {}
    for assignment in db.query(Assignment):
        before, after = old.rules.of(assignment.name).points, new.rules.of(assignment.name).points
        if before == after:
            continue
        for notebook in assignment.notebooks:
            usual = _usual_points(course, notebook.name) if before.keys() - after.keys() else {}
            for cell in [*notebook.grade_cells, *notebook.task_cells]:
                name = GradeId(cell.name).exercise
                points = after.get(name, usual.get(cell.name) if name in before else None)
                if points is not None and before.get(name) != after.get(name) and points != cell.max_score:
                    found.setdefault(assignment.name, []).append(PointChange(cell, points))
    return found


def set_points(changes: Mapping[str, list[PointChange]]) -> None:
    """Set new points in the gradebook. The caller commits."""
    for each in (each for cells in changes.values() for each in cells):
        each.cell.max_score = each.after


def describe_points(
    course: Course, db: Any, changes: Mapping[str, list[PointChange]]
) -> Iterator[tuple[str, str, str]]:
    """Yield assignment, student, and a sentence on old and new points, for each graded submission.

    `db` is the gradebook's session. Points by hand stay as they are. Late penalties, a share of the points, are left
    out.
    """
    for name, cells in sorted(changes.items()):
        assignment = db.query(Assignment).filter(Assignment.name == name).one()
        after = {each.cell.name: each.after for each in cells}
        maximum = float(assignment.max_score)
        most = maximum + sum(each.after - float(each.cell.max_score) for each in cells)
        for submission in sorted(assignment.submissions, key=lambda each: str(each.student_id)):
            verdicts = _verdicts(course, name, submission.student_id)
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            score = sum(float(grade.score) for grade in grades)
            gained = sum(
                _rescaled(grade, after[grade.name], verdicts.get(grade.name)) - float(grade.auto_score or 0)
                for grade in grades
                if grade.name in after and grade.manual_score is None
            )
            first, second, of, now = (decimal(each, "en") for each in (score, score + gained, maximum, most))
            yield name, submission.student_id, f"{first} of {of} points before, {second} of {now} points now"


def _rescaled(grade: Any, maximum: float, verdict: Verdict | None) -> float:
    """Return what a cell's automatic grade becomes with another maximum."""
    if verdict is not None:
        return verdict.points_out_of(maximum)
    before = float(grade.max_score)
    return round(float(grade.auto_score or 0) / before * maximum, 2) if before else 0.0


def _verdicts(course: Course, assignment: str, student: str) -> dict[str, Verdict]:
    """Return a dict from grade id to verdict, as a student's graded notebooks hold them."""
    found = {}
    for path in course.autograded(assignment, student).glob("*.ipynb"):
        with contextlib.suppress(Unreadable):
            for cell in read_notebook(path)["cells"]:
                name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
                for output in cell.get("outputs", ()) if GradeId(name).kind is CellKind.CHECK else ():
                    with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
                        found[name] = Verdict.from_json(output["data"][MIME])
    return found


def _usual_points(course: Course, name: str) -> dict[str, float]:
    """Return a dict from grade id to the points in the lesson from which the notebook `name` was made."""
    if (made_from := lesson_of(course.root, name)) is None:
        return {}
    cells = [cell.metadata.get("nbgrader", {}) for cell in source_notebook(*made_from).cells]
    points = {ours["grade_id"]: float(ours["points"]) for ours in cells if "points" in ours}
    return {GradeId.of(CellKind.CHECK, each): float(one.points) for each, one in made_from[1].items()} | points
