"""Receipts: what a student gets until results may be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import NAME, SOLVED, TOTAL

RULES = """
time_zone = "Europe/Moscow"
language = "ru"
[assignments.{name}]
due = {due:%Y-%m-%dT%H:%M:%S}
feedback = "{feedback}"
"""
SOON = datetime.now(UTC) + timedelta(days=2)
LONG_AGO = datetime(2026, 1, 1)


def set_rules(course: Course, due: datetime, feedback: str = "after_due") -> None:
    text = RULES.format(name=NAME, due=due, feedback=feedback)
    (course.folder / "course.toml").write_text(text, encoding="utf-8")
    assert main(["course", str(course.folder), "--apply"]) == 0


def feedback(course: Course, student: str = "ann") -> str:
    assert main(["feedback", str(course.folder)]) == 0
    return (course.folder / "feedback" / student / NAME / f"{NAME}.html").read_text(encoding="utf-8")


@pytest.fixture
def handed_in(course: Course) -> Course:
    course.hand_in("ann", SOLVED, came=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
    return course


def test_no_result_before_the_due_date(handed_in: Course, capsys: pytest.CaptureFixture[str]) -> None:
    set_rules(handed_in, SOON)
    handed_in.grade()
    page = feedback(handed_in)
    assert "1 receipt instead of results" in capsys.readouterr().out
    assert f"/ {TOTAL:g}" not in page
    assert page.index("Работа получена") < page.index("Your work was received"), "the course's language first"
    assert "(UTC+03:00)" in page
    assert handed_in.scores() == {"ann": TOTAL}

    set_rules(handed_in, LONG_AGO)
    page = feedback(handed_in)
    assert "Работа получена" not in page
    assert "Your answer" in page


def test_a_page_made_earlier_is_withdrawn_and_comes_back(handed_in: Course) -> None:
    set_rules(handed_in, SOON, "at_once")
    handed_in.grade()
    whole = feedback(handed_in)
    set_rules(handed_in, SOON)
    assert "Работа получена" in feedback(handed_in)
    set_rules(handed_in, SOON, "at_once")
    assert feedback(handed_in) == whole


def test_an_extension_withholds_feedback_from_this_student_only(handed_in: Course, course: Course) -> None:
    course.hand_in("bo", SOLVED, came="2025-12-31 10:00:00 UTC")
    (course.folder / "students.csv").write_text(f"id,extensions\nann,{NAME} +9999d\nbo,\n", encoding="utf-8")
    set_rules(course, LONG_AGO)
    course.grade()
    assert "Работа получена" in feedback(course)
    assert "Your answer" in feedback(course, "bo")
