"""Canvas' anonymous grading: numbers of hidden people, until their names are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import collect
from support.lms.canvas import Site, User
from support.lms.quick_grades import folder_mark, give_back, give_grades

Marked = Callable[[object], str]
PEOPLE = [
    User(4711, "Пётр", "Иванов", "petr", anonymous="aB0xY"),
    User(4712, "Ann", "Lee", "ann", anonymous="7fQ12"),
    User(4713, "Ida", "Kim", "ida", anonymous="zzzzz"),
]


@pytest.fixture
def hidden(course: Course, tmp_path: Path, marked: Marked) -> Site:
    """An anonymous assignment, collected with the gradebook and graded."""
    people = [replace(each, files={880 + at: (f"{NAME}.ipynb", marked(at))}) for at, each in enumerate(PEOPLE)]
    people[2].files = {}
    site = Site(people, title=NAME, anonymous=True)
    book = site.gradebook(tmp_path / "book.csv")
    assert collect(course, site.archive(tmp_path / "all.zip"), "--gradebook", book) == 0
    give_grades(course)
    return site


def test_nobody_is_said_to_have_handed_in_nothing(
    course: Course, hidden: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give_back(course) == 0
    assert "no submission" not in capsys.readouterr().out


def test_a_revealed_person_stays_one_person(
    course: Course, hidden: Site, tmp_path: Path, marked: Marked, capsys: pytest.CaptureFixture[str]
) -> None:
    """Grades come into the gradebook once the names are shown, and the archive is collected again."""
    shown = replace(hidden, anonymous=False)
    book = shown.gradebook(tmp_path / "now.csv")
    capsys.readouterr()
    assert collect(course, shown.archive(tmp_path / "now.zip"), "--gradebook", book, "--add") == 0
    said = capsys.readouterr().out
    assert f"participant-aB0xY: {NAME} already collected, no time known; Canvas names иванов" in said
    assert {path.name for path in course.folder.glob("submitted/*")} == {"participant-aB0xY", "participant-7fQ12"}
    points = give_grades(course)
    assert give_back(course, "--gradebook", book) == 0, capsys.readouterr().out
    assert "\n  no submission: ida (Ida Kim)\n" in capsys.readouterr().out
    place = course.folder / "returned" / NAME
    assert shown.import_gradebook((place / "canvas_gradebook.csv").read_bytes()) == {}
    wanted = [f"{points[id]:.2f}" for id in ("participant-aB0xY", "participant-7fQ12")]
    assert [each.score for each in shown.users] == [*wanted, ""]
    pages = shown.import_feedback((place / "canvas_feedback.zip").read_bytes())
    assert [b"mark:0!" in b"".join(pages[4711].values()), sorted(pages)] == [True, [4711, 4712]]

    shown.users[0].files = {990: (f"{NAME}-1.ipynb", marked("again"))}
    assert collect(course, shown.archive(tmp_path / "again.zip"), "--gradebook", book) == 0
    assert {path.name for path in course.folder.glob("submitted/*")} == {"participant-aB0xY", "participant-7fQ12"}
    assert folder_mark(course, "participant-aB0xY") == "again"
