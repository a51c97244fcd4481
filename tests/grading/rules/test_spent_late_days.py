"""Rules that reach grades late: days spent elsewhere, and assignments that are released after the rules."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.cli import main
from autograder.grading.batch.spent_late_days import update_penalties
from autograder.grading.course.course import open_course
from support.course import Course, make_folder
from support.first_gradient import LESSON, NAME, SOLVED, TOTAL
from support.lms import collect, write_archive
from support.solved import solved_notebook

RULES = f"""
late_days = 1
[defaults]
late = [{{until = "2d", credit = 50}}]
[assignments.{NAME}]
due = 2024-01-10T00:00:00
[assignments.20_earlier]
due = 2024-01-03T00:00:00
"""


def test_a_late_day_that_an_earlier_assignment_takes_is_missing_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other assignment is graded afterwards: its name comes later."""
    course = Course.make(tmp_path / "course", languages=["en"])
    (course.folder / "course.toml").write_text(RULES)
    for student in ("ann", "bo"):
        course.hand_in(student, SOLVED, came="2024-01-10 10:00:00 UTC")
    course.grade()
    assert course.owed() == {"ann": 0, "bo": 0}
    with course.gradebook() as gradebook:
        gradebook.add_assignment("20_earlier", duedate=datetime(2024, 1, 3))
        for student in ("ann", "bo"):
            gradebook.add_submission("20_earlier", student, timestamp=datetime(2024, 1, 3, 10))
    update_penalties(open_course(course.folder), ["ann"], without="20_earlier")
    assert course.owed() == {"ann": TOTAL / 2, "bo": 0}
    course.grade()
    assert course.owed() == {"ann": TOTAL / 2, "bo": TOTAL / 2}
    assert main(["withdraw", str(course.folder), "20_earlier", "ann"]) == 0
    said = f"late days are free again: {NAME}, ann: {TOTAL / 2:g} points before, {TOTAL:g} now"
    assert said in capsys.readouterr().out


def test_an_assignment_that_is_released_after_the_rules_were_applied_is_due(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    make_folder(folder)
    (folder / "course.toml").write_text(RULES)
    (folder / "students.csv").write_text("id,name\nann,Ann\nbo,Bo\n")
    assert main(["course", str(folder), "--apply"]) == 0
    course = Course(folder, LESSON)
    for student, came in (("ann", "2024-01-11 10:00:00 UTC"), ("bo", "2024-01-09 10:00:00 UTC")):
        course.hand_in(student, solved_notebook(LESSON, "en"), came=came)
    course.grade()
    assert course.owed() == {"ann": TOTAL / 2, "bo": 0}


def test_canvas_needs_only_the_rules_to_tell_what_is_in_time(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    make_folder(folder)
    (folder / "course.toml").write_text(RULES)
    (folder / "students.csv").write_text("id,name\nann,Ann Li\n")
    course = Course(folder, LESSON)
    path = course.hand_in("x", solved_notebook(LESSON, "en"), folder=tmp_path)
    archive = write_archive(tmp_path / "c.zip", {f"annli_7_1_{NAME}.ipynb": path.read_bytes()})
    assert collect(course, archive) == 0
    assert (course.submitted("ann").parent / "timestamp.txt").read_text().startswith("2024-01-10 00:00:00")
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "course") as gradebook:
        assert gradebook.assignments == []
