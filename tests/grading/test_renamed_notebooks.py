"""Notebooks under another name than the one that was handed out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.course import Course, files_below
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL, WRONG


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions whose notebook is called otherwise, alone and beside the one that was handed out."""
    course = Course.make(tmp_path_factory.mktemp("renamed") / "course", beside={"table.csv": "ours"})
    course.hand_in("alone", SOLVED, name=f"{NAME} (1)")
    course.hand_in("deeper", SOLVED, name=f"folder/{NAME}")
    course.hand_in("beside", {}, language="ru")
    course.hand_in("beside", SOLVED, language="ru", name="Первый градиент Петров")
    course.hand_in("twice", {FIRST.name: WRONG})
    course.hand_in("twice", SOLVED, name="new")
    course.hand_in("copied", SOLVED)
    course.hand_in("copied", SOLVED, name="copy")
    other = course.folder / "submitted" / "other" / NAME / "another lesson.ipynb"
    other.parent.mkdir(parents=True)
    shutil.copy(course.folder / "source" / "01_leaf_tensors" / "01_leaf_tensors.ipynb", other)
    return course


def test_a_renamed_notebook_is_graded(renamed: Course, tmp_path: Path) -> None:
    course = renamed.copy(tmp_path)
    results = course.grade()
    found = {name: (each["state"], each["score"]) for name, each in results.items()}
    assert found == {
        "alone": ("graded", TOTAL),
        "deeper": ("graded", TOTAL),
        "beside": ("graded", TOTAL),
        "twice": ("flagged", 0),
        "copied": ("graded", TOTAL),
        "other": ("failed", None),
    }
    assert results["alone"]["notes"] == [f"graded: {NAME} (1).ipynb"]
    assert results["beside"]["notes"][0] == f"graded: Первый градиент Петров.ipynb, as {NAME}.ipynb has no answers"
    assert results["copied"]["notes"] == ["not graded: copy.ipynb (the same answers)"]
    assert results["twice"]["reasons"] == [
        f"more than one notebook with answers: {NAME}.ipynb was graded, not new.ipynb"
    ]
    (why,) = results["other"]["reasons"]
    assert "another lesson.ipynb (it has none of this assignment's cells)" in why
    for student in ("alone", "deeper", "beside"):
        there = sorted(files_below(course.folder / "autograded" / student / NAME))
        assert there == [f"{NAME}.ipynb", "table.csv"]
    assert {each["state"] for name, each in course.grade().items() if name != "other"} == {"unchanged"}


def test_nbgrader_autograde_takes_the_notebook_with_answers(renamed: Course, tmp_path: Path) -> None:
    course = renamed.copy(tmp_path)
    for student in ("alone", "deeper", "other"):  # nbgrader itself wants one with the released name
        shutil.rmtree(course.folder / "submitted" / student)
    log = course.nbgrader("autograde", NAME)
    assert {name: score == TOTAL for name, score in course.scores().items()} == {
        "beside": True,
        "copied": True,
        "twice": False,
    }
    assert f"beside, {NAME}: graded: Первый градиент Петров.ipynb, as {NAME}.ipynb has no answers" in log
    assert "a person has to look: more than one notebook with answers" in log
    assert course.shown_flags() == {"beside": False, "copied": False, "twice": True}
