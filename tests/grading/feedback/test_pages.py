"""Feedback pages: which are made anew, and what they say of a deleted answer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.cli import main
from autograder.language import LANGUAGES
from autograder.messages.learners import message
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED
from support.solved import grade_id
from support.submissions import Submission, read


def test_only_stale_pages_are_made(flagged: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = flagged.copy(tmp_path)
    pages = {name: course.folder / "feedback" / name / NAME / f"{NAME}.html" for name in ("ann", "boris", "carl")}

    def made() -> set[str]:
        before = {name: page.stat().st_mtime_ns if page.exists() else 0 for name, page in pages.items()}
        assert main(["feedback", str(course.folder)]) == 0
        return {name for name, page in pages.items() if page.stat().st_mtime_ns != before[name]}

    assert made() == {"ann", "boris", "carl"}
    assert made() == set()
    course.give_by_hand("boris", CHECK, 2)
    assert made() == {"boris"}
    course.hand_in("carl", {})
    course.grade()
    assert made() == {"carl"}
    with course.gradebook() as gradebook:
        gradebook.find_submission_notebook(NAME, NAME, "ann").late_submission_penalty = 3
    assert made() == {"ann"}
    pages["ann"].unlink()
    assert made() == {"ann"}
    shutil.rmtree(course.folder / "autograded")
    assert main(["feedback", str(course.folder)]) == 1
    assert "grade it first" in capsys.readouterr().err


def without_answer(course: Course, language: str) -> NotebookNode:
    """Return a solved notebook in which the cell of the first function is gone."""
    notebook = Submission("x", language, SOLVED).notebook(read(course.released(language)))
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) != f"answer-{FIRST.name}"]
    return notebook


def test_a_page_says_that_an_answer_was_deleted(course: Course) -> None:
    moved, broken = without_answer(course, "en"), without_answer(course, "en")
    moved.cells.insert(1, new_code_cell(SOLVED[FIRST.name]))
    broken.cells.insert(1, new_code_cell(f"1 / 0\n{SOLVED[FIRST.name]}"))
    course.hand_in("gone", without_answer(course, "en"))
    course.hand_in("gone-ru", without_answer(course, "ru"), language="ru")
    course.hand_in("moved", moved)
    course.hand_in("broken", broken)
    results = course.grade()
    note = f"deleted by the student: answer-{FIRST.name}"
    assert {who for who, each in results.items() if note in each["notes"]} >= {"gone", "gone-ru"}
    assert note not in results["moved"]["notes"], "its code stands in another cell"
    assert main(["feedback", str(course.folder)]) == 0
    pages = {who: BeautifulSoup(course.feedback(who), "html.parser").get_text() for who in course.scores()}
    deleted = {language: message("absent.deleted", name=FIRST.asks).read(language) for language in LANGUAGES}
    said = {language: text.replace("`", "").split(",")[0] for language, text in deleted.items()}
    assert said["en"] == f"The cell of {FIRST.asks} was deleted from your notebook"
    assert {who for who, page in pages.items() if said["en"] in page} == {"gone"}
    assert {who for who, page in pages.items() if said["ru"] in page} == {"gone-ru"}
    assert f"There is no {FIRST.asks}" in pages["broken"]
