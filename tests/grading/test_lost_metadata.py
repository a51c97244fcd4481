"""Notebooks whose cells have lost ids and metadata, as VS Code and Colab save pasted cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import FIRST, LESSON, NAME, SOLVED, TOTAL, WRONG
from support.solved import as_vs_code_saves_it, solved_notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A right submission in each language, one with an answer pasted wrong, one under another name."""
    made = Course.make(tmp_path_factory.mktemp("lost") / "course")
    for language in ("en", "ru"):
        made.hand_in(language, as_vs_code_saves_it(solved_notebook(LESSON, language), pasted=True))
    wrong = as_vs_code_saves_it(solved_notebook(LESSON, "en"), pasted=True)
    for cell in wrong.cells:
        if cell.source == SOLVED[FIRST.name]:
            cell.source = WRONG
    made.hand_in("wrong", wrong)
    made.hand_in("renamed", as_vs_code_saves_it(solved_notebook(LESSON, "en"), pasted=True), name="Untitled-1")
    return made


def test_answers_and_checks_are_found_by_their_source(course: Course, tmp_path: Path) -> None:
    results = course.copy(tmp_path).grade()
    assert {name: (each["state"], each["score"]) for name, each in results.items()} == {
        "en": ("graded", TOTAL),
        "ru": ("graded", TOTAL),
        "renamed": ("graded", TOTAL),
        "wrong": ("graded", TOTAL - FIRST.points),
    }


def test_nbgrader_autograde_gives_the_same(course: Course, tmp_path: Path) -> None:
    copied = course.copy(tmp_path)
    submitted = copied.folder / "submitted" / "renamed" / NAME
    (submitted / "Untitled-1.ipynb").rename(submitted / f"{NAME}.ipynb")
    copied.nbgrader("autograde", NAME)
    assert copied.scores() == {"en": TOTAL, "ru": TOTAL, "renamed": TOTAL, "wrong": TOTAL - FIRST.points}
