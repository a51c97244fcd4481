"""Canvas, by the rules of its own sources: nobody disappears on the way from it and back to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import NAME
from support.lms import collect
from support.lms.canvas import Site, User
from support.lms.files import zipped
from support.lms.quick_grades import folder_mark, give_back, give_grades

Marked = Callable[[object], str]
CLASS = [
    User(4711, "Анна", "Петрова", "petrova@uni.example", "s1"),
    User(4712, "Анна", "Петрова", "petrova2@uni.example", "s2"),
    User(4713, "Jean-Luc", "O'Neil", "oneil", "s3"),
    User(4714, "Maria", "de_la_Cruz", "cruz", "s4", late=True),
    User(4715, "Zoe\u0308", "Nguyễn", "nguyen", "s5"),
    User(4716, "Ida_7", "Kim", "kim", "s6"),
    User(4717, "", "Idle", "idle", "s7"),
]
SITES = {
    "en": Site([]),
    "semicolons, decimal commas, a mark, manual posting": Site([], separator=";", comma=True, bom=True, manual=True),
    "first and last names": Site([], split_names=True),
    "points possible": Site([], points=100),
}


def of_class(site: Site, marked: Marked) -> Site:
    """Return the site with a class: one hands in a zip, one two files, one a text as well, one a second time."""
    users = [replace(each, files={}) for each in CLASS]
    for at, user in enumerate(users[:6]):
        user.files = {880_000 + at: (f"{NAME}-{at}.ipynb" if at else f"{NAME}.ipynb", marked(user.number))}
    users[0].files = {880_000: ("2_homework.zip", zipped({"work/lesson.ipynb": marked(4711)}))}
    users[1].files[770_000] = ("data_1_2.csv", "1")
    users[2].text = "<p>see the file</p>"
    return replace(site, users=users, title=NAME)


NIGHTLY = pytest.mark.nightly(twin="tests/grading/lms/test_canvas.py::test_from_canvas_and_back")


@pytest.mark.parametrize(
    ("site", "with_gradebook"),
    [
        *(
            pytest.param(site, True, id=name, marks=NIGHTLY if at > 1 else ())
            for at, (name, site) in enumerate(SITES.items())
        ),
        pytest.param(Site([]), False, id="the archive alone as a roster"),
    ],
)
def test_from_canvas_and_back(
    course: Course, marked: Marked, tmp_path: Path, site: Site, with_gradebook: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    site = of_class(site, marked)
    if not with_gradebook:
        site.users[5].given = "Ida"  # who "kimida_7_4716" is, only the gradebook tells
    archive, book = site.archive(tmp_path / "all.zip"), site.gradebook(tmp_path / "book.csv")
    more = ["--worksheet", book] if with_gradebook else []
    assert collect(course, archive, *more) == 0, capsys.readouterr().out
    names = sorted(path.name for path in (course.folder / "submitted").iterdir())
    if with_gradebook:
        assert names == ["cruz", "kim", "nguyen", "oneil", "petrova", "petrova2"]
        assert "Test" not in (course.folder / "students.csv").read_text()
    points = give_grades(course)
    assert give_back(course) == 0
    assert "export it, and give it to `autograder return` as --gradebook CSV" in capsys.readouterr().out
    marks = {folder_mark(course, student): score for student, score in points.items()}
    assert give_back(course, "--gradebook", book) == 0, capsys.readouterr().out
    place = course.folder / "returned" / NAME
    assert site.import_gradebook((place / "canvas_gradebook.csv").read_bytes()) == {}
    wanted = {each.number: f"{marks[str(each.number)] * site.points / 10:.2f}" for each in site.users[:6]}
    assert {each.number: each.score for each in site.users if each.score} == wanted
    pages = site.import_feedback((place / "canvas_feedback.zip").read_bytes())
    assert sorted(pages) == [each.number for each in site.users[:6]]
    for each in site.users[1:6]:
        ((name, data),) = pages[each.number].items()
        notebook = nbformat.reads(data.decode(), as_version=4)
        assert name.startswith(NAME)
        assert notebook.cells[0].source.startswith("# Feedback")
        assert f"mark:{each.number}!" in notebook.cells[1].source
    ((name, data),) = pages[4711].items()
    assert (name, data[:2]) == ("2_homework.zip", b"PK"), "under the name of an archive comes an archive"


def test_an_anonymous_assignment(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = of_class(Site([], anonymous=True), marked)
    for at, user in enumerate(site.users):
        user.anonymous = f"aB{at}xY"
    archive, book = site.archive(tmp_path / "all.zip"), site.gradebook(tmp_path / "book.csv")
    assert collect(course, archive, "--worksheet", book) == 0, capsys.readouterr().out
    assert "participant-aB0xY" in {path.name for path in (course.folder / "submitted").iterdir()}
    give_grades(course)
    assert give_back(course, "--gradebook", book) == 1
    assert "participant-aB0xY: not in Canvas' gradebook" in capsys.readouterr().out


def test_one_hands_in_for_a_group(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [replace(each, group="Team 7" if at < 2 else "") for at, each in enumerate(CLASS[:3])]
    people[1].files, people[2].files = {5: (f"{NAME}.ipynb", marked("team"))}, {6: (f"{NAME}.ipynb", marked("alone"))}
    site = Site(people, title=NAME, group=True)
    lines = ["id,name,lms,group", "ann,Анна Петрова,4711,Team 7", "anna,Анна Петрова,4712,Team 7", "jean,,4713,"]
    (course.folder / "students.csv").write_text("\n".join(lines))
    archive, book = site.archive(tmp_path / "all.zip"), site.gradebook(tmp_path / "book.csv")
    assert collect(course, archive) == 0, capsys.readouterr().out
    assert sorted(path.name for path in (course.folder / "submitted").iterdir()) == ["ann", "anna", "jean"]
    points = give_grades(course)
    assert give_back(course, "--gradebook", book) == 0, capsys.readouterr().out
    place = course.folder / "returned" / NAME
    site.import_gradebook((place / "canvas_gradebook.csv").read_bytes())
    assert [each.score for each in people] == [f"{points[id]:.2f}" for id in ("ann", "anna", "jean")]
    pages = site.import_feedback((place / "canvas_feedback.zip").read_bytes())
    assert [b"mark:team!" in b"".join(pages[each.number].values()) for each in people] == [True, True, False]


def test_a_namesake_with_another_number_is_somebody_else(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (replace(each, files={at: (f"{NAME}.ipynb", marked(at))}) for at, each in enumerate(CLASS[:2], 1))
    assert collect(course, Site([first]).archive(tmp_path / "1.zip")) == 0
    assert collect(course, Site([second]).archive(tmp_path / "2.zip")) == 1
    assert "петроваанна has this name, but 4711 in the column lms" in capsys.readouterr().out
    assert collect(course, Site([second]).archive(tmp_path / "2.zip"), "--add") == 0
    assert len(list((course.folder / "submitted").iterdir())) == 2
    lines = (course.folder / "students.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len({line.count(",") for line in lines}) == 1, "a new line has all columns"


def test_late_without_a_time_is_late_until_a_time_is_supplied(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (course.folder / "course.toml").write_text(f"[assignments.{NAME}]\ndue = 2026-09-17T21:00:00\n")
    late = replace(CLASS[3], files={1: (f"{NAME}.ipynb", marked(1))})
    (course.folder / "students.csv").write_text("id,lms\ncruz,4714\n")
    archive = Site([late]).archive(tmp_path / "all.zip", datetime(2026, 9, 20, 12))
    assert collect(course, archive) == 0
    stamp = course.folder / "submitted" / "cruz" / NAME / "timestamp.txt"
    assert stamp.read_text().startswith("2026-09-20 12:00")
    said = capsys.readouterr().out
    line = f"cruz,{NAME},YYYY-MM-DD HH:MM"
    assert f"that of the download counts until you write the line {line} into times.csv" in said
    (head,) = re.findall(r"below a first line (\S+), and collect again", said)
    (course.folder / "times.csv").write_text(f"{head}\n{line.replace('YYYY-MM-DD HH:MM', '2026-09-17 22:30')}\n")
    assert collect(course, archive) == 0
    assert stamp.read_text().startswith("2026-09-17 22:30")
    assert "already collected, 2026-09-17 22:30 (times.csv)" in capsys.readouterr().out


def test_who_is_excused_in_canvas_after_a_late_hand_in_is_in_time(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An extension in Canvas takes LATE off old work, and off new work, which then counts."""
    _with_due_date(course)
    (course.folder / "students.csv").write_text("id,lms\ncruz,4714\n")
    stamp = course.folder / "submitted" / "cruz" / NAME / "timestamp.txt"
    first = replace(CLASS[3], files={1: (f"{NAME}.ipynb", marked("first"))})
    again = replace(CLASS[3], files={2: (f"{NAME}-1.ipynb", marked("again"))}, late=False)
    sites = [first, first, replace(first, late=False), first, again, first]
    stamps = []
    for at, user in enumerate(sites):
        assert collect(course, Site([user]).archive(tmp_path / f"{at}.zip", datetime(2026, 9, 20 + at, 12))) == 0
        stamps.append((stamp.read_text()[:16], folder_mark(course, "cruz")))
        assert f", {stamps[-1][0]} (" in capsys.readouterr().out  # what counts is said, not the later download
    due = "2026-09-17 21:00"
    assert stamps == [*[("2026-09-20 12:00", "first")] * 2, *[(due, "first")] * 2, *[(due, "again")] * 2]


def test_late_work_needs_a_due_date(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = replace(CLASS[3], files={1: (f"{NAME}.ipynb", marked(1))})
    in_time = replace(CLASS[2], files={2: (f"{NAME}.ipynb", marked(2))})
    archive = Site([late, in_time]).archive(tmp_path / "all.zip")
    assert collect(course, archive) == 0
    said = capsys.readouterr().out
    assert f"some work is late, but {NAME} has no due date: write the one of the LMS into course.toml" in said
    assert "Canvas' archive alone tells neither proper names nor who handed in nothing" in said
    _with_due_date(course)
    assert collect(course, archive) == 0
    assert "has no due date" not in capsys.readouterr().out
    assert "2026-09-17 21:00" in next(course.folder.glob(f"submitted/*neil*/{NAME}/timestamp.txt")).read_text()


def test_a_penalty_by_the_time_of_the_download_is_said_again(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_due_date(course, 'late = [{until = "7d", credit = 50}]\n')
    late = replace(CLASS[3], files={1: (f"{NAME}.ipynb", marked(2))})
    in_time = replace(CLASS[2], files={2: (f"{NAME}.ipynb", marked(1))})
    (course.folder / "students.csv").write_text("id,lms\ncruz,4714\noneil,4713\n")
    archive, times = Site([late, in_time]).archive(tmp_path / "all.zip"), course.folder / "times.csv"
    assert collect(course, archive) == 0
    give_grades(course)
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(NAME, duedate="2026-09-17 21:00")
        gradebook.update_or_create_submission(NAME, "cruz", timestamp=datetime(2026, 9, 20, 12))
    assert main(["course", str(course.folder), "--apply"]) == 0
    capsys.readouterr()
    assert give_back(course) == 0
    said = capsys.readouterr().out
    assert re.findall(r"(\w+): late in Canvas, which tells no time", said) == ["cruz"]
    times.write_text(f"id,assignment,time\ncruz,{NAME},2026-09-18 10:00\n")
    assert collect(course, archive) == 0
    capsys.readouterr()
    give_back(course)
    assert "which tells no time" not in capsys.readouterr().out


def _with_due_date(course: Course, more: str = "") -> None:
    (course.folder / "course.toml").write_text(f"[assignments.{NAME}]\ndue = 2026-09-17T21:00:00\n{more}")
