"""Blind marking in Moodle: numbers for people, until the identities are revealed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import collect
from support.lms.moodle import Assignment, Member
from support.lms.quick_grades import give_back, give_grades

Marked = Callable[[object], str]
CAME = datetime(2026, 9, 17, 18, 5)
PEOPLE = [
    Member(614, "Пётр", "Иванов", "petr@uni.example", came=CAME),
    Member(615, "Ann", "Lee", "ann@uni.example", came=CAME),
    Member(616, "Ida", "Kim", "ida@uni.example"),
]


@pytest.fixture
def blind(course: Course, tmp_path: Path, marked: Marked, capsys: pytest.CaptureFixture[str]) -> Assignment:
    """An assignment with blind marking, of which the grades are in Moodle."""
    people = [replace(each, files={f"{NAME}.ipynb": marked(each.number)} if each.came else None) for each in PEOPLE]
    site = Assignment(people, (5, 1), blind=True)
    assert collect(course, site.archive(tmp_path / "all.zip"), "--worksheet", site.worksheet(tmp_path / "w.csv")) == 0
    give_grades(course)
    assert give_back(course) == 0
    site.import_worksheet((course.folder / "returned" / NAME / "worksheet.csv").read_bytes())
    return site


def test_who_handed_in_nothing_is_named(blind: Assignment, capsys: pytest.CaptureFixture[str]) -> None:
    said = capsys.readouterr().out
    assert f"\nno submission of {NAME}: participant 616\n" in said
    assert "\n  no submission: participant 616\n" in said


def test_a_revealed_person_stays_one_person(
    course: Course, blind: Assignment, tmp_path: Path, marked: Marked, capsys: pytest.CaptureFixture[str]
) -> None:
    blind.members[0].files = {f"{NAME}.ipynb": marked("second")}
    blind.members[0].came = datetime(2026, 9, 18, 18, 5)
    revealed = replace(blind, blind=False)
    sheet = revealed.worksheet(tmp_path / "now.csv")
    again = revealed.archive(tmp_path / "again.zip")
    capsys.readouterr()
    assert collect(course, again, "--worksheet", sheet, "--add") == 0
    said = capsys.readouterr().out
    assert f"participant-614: {NAME} taken as attempt 2, 2026-09-18 18:05 (worksheet); Moodle names Пётр Иванов" in said
    assert {path.name for path in course.folder.glob("submitted/*")} == {"participant-614", "participant-615"}

    points = give_grades(course)
    assert give_back(course, "--worksheet", sheet) == 0
    said = capsys.readouterr().out
    assert "of a person stays" not in said
    assert "Иванов" not in said, "he handed in"
    place = course.folder / "returned" / NAME
    revealed.import_worksheet((place / "worksheet.csv").read_bytes(), ignores_modified=True)
    assert float(revealed.members[0].grade) == points["participant-614"] * 10 > 0
    pages = revealed.import_feedback((place / "moodle_feedback.zip").read_bytes())
    assert [b"the page of second" in page for page in pages[614].values()] == [True]
