"""Slips of honest students, and what is said of them."""

from __future__ import annotations

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL
from support.submissions import ENDLESS


@pytest.fixture(scope="module")
def slips(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """An endless loop in a cell, an import of what is gone, and a file that is cut off; nothing is graded."""
    course = Course.make(tmp_path_factory.mktemp("slips") / "course")
    course.configure("c.RunIsolated.cell_seconds = 5")
    course.hand_in("loops", {**SOLVED, FIRST.name: f"{SOLVED[FIRST.name]}\n{ENDLESS}"})
    gone = f"from autograder.exercises import something_removed\n{SOLVED[FIRST.name]}"
    course.hand_in("older", {**SOLVED, FIRST.name: gone}, language="ru")
    course.hand_in("tqdm", {**SOLVED, FIRST.name: f"import not_here\n{SOLVED[FIRST.name]}"})
    path = course.hand_in("cut", SOLVED)
    path.write_bytes(path.read_bytes()[:-1000])
    return course


def test_slips_are_named(slips: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course = slips
    assert main(["grade", str(course.folder), NAME]) == 1  # one is cut off
    said = capsys.readouterr().out
    where = f"the cell answer-{FIRST.name}"
    assert f"note: {where} ran longer than 5 s and was stopped: an endless loop?\n" in said
    gone = "cannot import name 'something_removed' from 'autograder.exercises'"
    assert f"note: {where} imports what this version of the course does not have: {gone}\n" in said
    assert f"note: {where} imports a module that is not installed here: 'not_here'\n" in said
    assert f"{NAME}.ipynb is no notebook: the file is cut off" in said
    assert "ask the student for the whole file\n" in said
    assert course.scores()["older"] == TOTAL - FIRST.points

    assert main(["feedback", str(course.folder)]) == 0
    assert "Такого имени в пакете курса нет" in course.feedback("older")
    assert main(["report", str(course.folder), "--language", "ru"]) == 0
    page = (course.folder / "report" / f"{NAME}.ru.html").read_text(encoding="utf-8")
    assert "файл обрывается на полуслове" in page
