"""Sanitized notebooks, beside those that nbgrader's own steps make."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet
from nbformat.notebooknode import NotebookNode
from nbgrader import preprocessors
from nbgrader.api import Gradebook

from autograder import exercises
from autograder.grading.gradebook.book import Book
from autograder.grading.submission.sanitize import sanitize
from autograder.grading.submission.submitted_notebook import SubmittedNotebook
from autograder.language import LANGUAGES
from autograder.lessons.collection import COURSE
from autograder.lessons.notebooks import source_notebook, student_notebook
from autograder.lessons.source import Lesson, solutions
from fuzz.broken_notebooks import Json, shown
from support.submissions import Submission, all_of


def theirs(raw: NotebookNode, about: Json) -> NotebookNode:
    """nbgrader's own steps."""
    made = copy.deepcopy(raw)
    for step in ("ClearOutput", "DeduplicateIds", "OverwriteKernelspec", "OverwriteCells"):
        made, _ = getattr(preprocessors, step)().preprocess(made, {"nbgrader": about})
    return made


def handed_in(lesson: Lesson) -> list[Submission]:
    if lesson.name == "gradient_accumulation":
        return all_of(lesson)
    solved = {name: solutions(exercise)[0] for name, exercise in exercises.load(lesson.name).items()}
    return [Submission(f"{len(answers)}", language, answers) for answers in (solved, {}) for language in LANGUAGES]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An empty gradebook."""
    url = f"sqlite:///{tmp_path_factory.mktemp('book') / 'gradebook.db'}"
    with Gradebook(url):
        return url


NIGHTLY = pytest.mark.nightly(
    twin="tests/grading/submission/test_sanitize.py::test_notebooks_are_made_anew_as_nbgrader_does"
)
EVERY_COMMIT = ("gradient_accumulation", "transforms")


def lessons() -> Iterator[ParameterSet]:
    """Yield the lessons, most of them for the night."""
    for lesson in COURSE.read():
        yield pytest.param(lesson, id=lesson.name, marks=() if lesson.name in EVERY_COMMIT else NIGHTLY)


@pytest.mark.parametrize("lesson", list(lessons()))
def test_notebooks_are_made_anew_as_nbgrader_does(lesson: Lesson, book: str) -> None:
    source = source_notebook(lesson, COURSE.exercises(lesson))
    notebooks = {language: student_notebook(source, language) for language in LANGUAGES}
    about = {"notebook": lesson.name, "assignment": lesson.name, "db_url": book}
    made, resources = copy.deepcopy(notebooks["en"]), {"nbgrader": about}
    with Gradebook(book) as opened:
        opened.add_assignment(lesson.name)
        for step in (preprocessors.ComputeChecksums(), preprocessors.SaveCells()):
            made, resources = step.preprocess(made, resources)
        released = Book(opened).released(lesson.name)[lesson.name]
    assert released.cells
    for submission in handed_in(lesson):
        raw = submission.notebook(notebooks[submission.language])
        clean, other = sanitize(SubmittedNotebook(raw, released)), theirs(raw, about)
        ours = clean.notebook  # nbgrader puts no deleted check back
        put_back = {*clean.restored, *clean.tests}
        ours.cells = [c for c in ours.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in put_back]
        assert shown(ours) == shown(other), submission.student
        assert ours.metadata.get("kernelspec") == other.metadata.get("kernelspec")
