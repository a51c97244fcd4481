"""Grades and pages of feedback without a run of the grader."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.commands import return_grades
from support.course import Course


def give_grades(course: Course) -> dict[str, float]:
    """Give each submission points, equal ones to equal notebooks, and a page. Returns points by student."""
    points: dict[str, float] = {}
    name = course.name
    with course.gradebook() as gradebook:
        cells = [cell.name for cell in gradebook.find_notebook(name, name).grade_cells]
        folders = sorted((course.folder / "submitted").glob(f"*/{name}"))
        marks = sorted({folder_mark(course, folder.parent.name) for folder in folders})
        for folder in folders:
            student = folder.parent.name
            _give(gradebook, student, name, cells, marks.index(folder_mark(course, student)) / 4)
            points[student] = gradebook.find_submission(name, student).score
            place = course.folder / "autograded" / student / name
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(next(folder.rglob("*.ipynb")), place / f"{name}.ipynb")
            page = course.folder / "feedback" / student / name / f"{name}.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"<title>{name} · {student}</title>\nthe page of {folder_mark(course, student)}")
    return points


def folder_mark(course: Course, student: str) -> str:
    """Return what tells one submission from all others: the last word of its first cell."""
    notebook = next((course.folder / "submitted" / student / course.name).rglob("*.ipynb"))
    return notebook.read_text(encoding="utf-8").partition("mark:")[2].partition("!")[0]


def _give(gradebook: Gradebook, student: str, name: str, cells: list[str], score: float) -> None:
    gradebook.update_or_create_student(student)
    gradebook.update_or_create_submission(name, student)
    found = gradebook.find_submission_notebook(name, name, student)
    for cell in found.grades:
        cell.auto_score = min(score, cell.max_score) if cell.name == cells[0] else 0.0
        cell.needs_manual_grade = False


@contextmanager
def _ready_pages() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(return_grades, "make_feedback", lambda *arguments, **options: 0)
        yield


def give_back(course: Course, *arguments: object) -> int:
    """Run `autograder return`, with the pages that are there."""
    with _ready_pages():
        return main(["return", str(course.folder), course.name, *map(str, arguments)])
