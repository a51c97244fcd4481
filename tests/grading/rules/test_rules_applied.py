"""Rules of `course.toml` on real submissions: late credit, extensions, and rules changed later."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import NAME, SOLVED, TOTAL

RULES = f"""
time_zone = "Europe/Moscow"
late_days = 1
[assignments.{NAME}]
due = 2026-01-02T03:00:00
grace = "10min"
late = [{{until = "2d", credit = 50}}]
"""
# Times in UTC; the due date is midnight there.
CAME = {"in_time": "01 23:00", "one_day": "02 23:00", "two_days": "03 23:00", "ext": "05 23:00"}
STUDENTS = f"id,name,extensions\next,Ann,{NAME} +3d\n"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions that came at different times, and rules; nothing is graded."""
    course = Course.make(tmp_path_factory.mktemp("late") / "course")
    for student, came in CAME.items():
        course.hand_in(student, SOLVED, came=f"2026-01-{came}:00 UTC")
    (course.folder / "course.toml").write_text(RULES)
    (course.folder / "students.csv").write_text(STUDENTS)
    return course


def net(course: Course) -> dict[str, float]:
    """Each student's points after the penalty."""
    owed = course.owed()
    return {student: score - owed[student] for student, score in course.scores().items()}


def test_both_graders_give_the_credit_of_the_rules(late: Course, tmp_path: Path) -> None:
    course = late.copy(tmp_path)
    course.grade()
    # A late day pays for the first day; the extension is three days and one late day.
    expected = {"in_time": TOTAL, "one_day": TOTAL, "two_days": TOTAL / 2, "ext": TOTAL}
    assert net(course) == expected
    stock = late.copy(tmp_path / "stock")
    shutil.copytree(course.folder / ".autograder", stock.folder / ".autograder", dirs_exist_ok=True)
    stock.set_due(datetime(2026, 1, 2))
    stock.nbgrader("autograde", NAME)
    assert net(stock) == expected


def test_a_rule_changed_later_changes_nothing_until_it_is_applied(
    late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path)
    course.grade()
    before = net(course)
    (course.folder / "course.toml").write_text(RULES.replace("credit = 50", "credit = 80"))
    course.grade()
    assert net(course) == before
    capsys.readouterr()
    assert main(["course", str(course.folder), "--check"]) == 0
    said = capsys.readouterr().out
    assert "due 2026-01-02 03:00; 10 min later is still in time; late work gets 80 % until 2026-01-04 03:00" in said
    assert "ext Ann: due 2026-01-05 03:00 (extension 3 d)" in said
    assert f"{NAME}, two_days: −{TOTAL / 2:g} points before, −{TOTAL / 5:g} now" in said
    assert net(course) == before
    assert main(["course", str(course.folder), "--apply"]) == 0
    course.grade()
    assert net(course) == {**before, "two_days": pytest.approx(TOTAL * 0.8)}


def test_a_wrong_rule_stops_the_command(late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = late.copy(tmp_path)
    (course.folder / "course.toml").write_text("[assignments.x]\ndeu = 1")
    assert main(["grade", str(course.folder)]) == 1
    assert "unknown: deu; known here:" in capsys.readouterr().err
