"""Canvas' group assignments: numbers and awkward names of teams in the paths of an archive."""

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
CLASS = [
    User(2, "Ann", "Lee", "ann"),
    User(3, "Bo", "Neil", "bo"),
    User(5, "Ida", "Kim", "ida"),
    User(7, "Пётр", "Иванов", "petr"),
]


def handed_in_by(number: int, team: str, marked: Marked) -> list[User]:
    """The class; one hands in for a team of two, with a small number as on a new site."""
    members = {number, 7}
    files = {17: (f"{NAME}.ipynb", marked("team"))}
    return [
        replace(each, group=team * (each.number in members), files=files if each.number == number else {})
        for each in CLASS
    ]


def write_students(course: Course, people: list[User]) -> None:
    lines = [f'{each.login},{each.given} {each.surname},{each.number},"{each.group}"' for each in people]
    (course.folder / "students.csv").write_text("\n".join(["id,name,lms,group", *lines]), encoding="utf-8")


def submitted(course: Course) -> dict[str, str]:
    return {path.name: folder_mark(course, path.name) for path in (course.folder / "submitted").glob("*")}


def test_a_number_in_a_teams_name_is_no_persons(course: Course, marked: Marked, tmp_path: Path) -> None:
    """The path "team_2_5_17_..." is of 5 from the team "Team_2", although a student has the number 2."""
    people = handed_in_by(5, "Team_2", marked)
    site = Site(people, title=NAME, group=True)
    write_students(course, people)
    archive, book = site.archive(tmp_path / "all.zip"), site.gradebook(tmp_path / "book.csv")
    assert collect(course, archive) == 0
    assert submitted(course) == {"ida": "team", "petr": "team"}
    points = give_grades(course)
    assert give_back(course, "--gradebook", book) == 0
    place = course.folder / "returned" / NAME
    site.import_gradebook((place / "canvas_gradebook.csv").read_bytes())
    assert [each.score for each in people] == ["", "", f"{points['ida']:.2f}", f"{points['petr']:.2f}"]
    pages = site.import_feedback((place / "canvas_feedback.zip").read_bytes())
    assert sorted(pages) == [5, 7]


def test_nobody_gets_what_two_may_have_handed_in(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the column group nothing tells "team" of 2 from "team_2" of 5. The remedy leads out."""
    people = handed_in_by(5, "Team_2", marked)
    archive = Site(people, title=NAME, group=True).archive(tmp_path / "all.zip")
    write_students(course, [replace(each, group="") for each in people])
    assert collect(course, archive) == 1
    assert submitted(course) == {}
    assert "team of ann (Ann Lee) or team_2 of ida (Ida Kim)" in capsys.readouterr().out
    write_students(course, people)
    assert collect(course, archive) == 0
    assert submitted(course) == {"ida": "team", "petr": "team"}


@pytest.mark.parametrize(
    "team", ["R & D", "a < b", "команда «Ё», 1-я", "🦊🐻", 'q?*|":', "x" * 190, "प्रिया", "LATE", "7", "Ann Lee", "ida"]
)
def test_a_team_with_an_awkward_name(course: Course, marked: Marked, tmp_path: Path, team: str) -> None:
    people = handed_in_by(3, team, marked)
    site = Site(people, title=NAME, group=True)
    write_students(course, [replace(each, group=each.group.replace('"', '""')) for each in people])
    assert collect(course, site.archive(tmp_path / "all.zip")) == 0
    assert submitted(course) == {"bo": "team", "petr": "team"}


def test_teams_of_one_spelling_are_told_apart_by_a_member(course: Course, marked: Marked, tmp_path: Path) -> None:
    """Canvas writes "ab" for "a < b" and for "a > b"."""
    teams = {2: "a < b", 3: "a < b", 5: "a > b", 7: "a > b"}
    people = [replace(each, group=teams[each.number], files={}) for each in CLASS]
    people[0].files, people[2].files = {17: ("x.ipynb", marked("first"))}, {18: ("x.ipynb", marked("second"))}
    write_students(course, people)
    assert collect(course, Site(people, title=NAME, group=True).archive(tmp_path / "all.zip")) == 0
    assert submitted(course) == {"ann": "first", "bo": "first", "ida": "second", "petr": "second"}
