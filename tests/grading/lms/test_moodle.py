"""Moodle, by the rules of its own sources: nobody disappears on the way from it and back to it."""

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
from support.lms.quick_grades import folder_mark, give_back, give_grades

Marked = Callable[[object], str]
CAME = datetime(2026, 9, 17, 18, 5)
ANN = Member(4711, "Анна", "Петрова", "petrova@uni.example", "s1", "Команда 1", CAME)
CLASS = [
    ANN,
    Member(4712, "Анна", "Петрова", "petrova2@uni.example", "s2", "Команда 1", CAME),
    Member(4713, "Jean-Luc", "O'Neil", "oneil@uni.example", "s3", "Команда 2", CAME),
    Member(4714, 'Ann "JJ"', "Lee & Li", "lee@uni.example", "s4", "Команда 2", CAME),
    Member(4715, "Пётр", "Ёлкин_Младший", "elkin@uni.example", "s5", "", CAME),
    Member(4716, "Zoe\u0308", "Nguyễn", "nguyen@uni.example", "s6", "", CAME),
    Member(4717, "Ида", "Мамин-Сибиряк", "ida@uni.example", "s7", "Команда 3"),
]
GROUPS = {"Команда 1": 4712, "Команда 2": 90, "Команда 3": 91}  # numbers of groups and participants may be equal
SITES = {
    "4.1": Assignment([]),
    "4.1 ru flat": Assignment([], language="ru", folders=False),
    "4.1 ru, last name first, ID number": Assignment(
        [], language="ru", surname_first=True, identity=("idnumber", "email")
    ),
    "4.1 ru blind": Assignment([], language="ru", blind=True),
    "4.5 without addresses": Assignment([], (4, 5), identity=()),
    "4.5 en_us": Assignment([], (4, 5), language="en_us"),
    "3.9 ru": Assignment([], (3, 9), "ru"),
    "3.9 with a group": Assignment([], (3, 9), group_mode="Группа А"),
    "3.9 blind with a group": Assignment([], (3, 9), blind=True, group_mode="Group-A"),
    "3.1 flat": Assignment([], (3, 1), folders=False),
    "5.1 with markers": Assignment([], (5, 1), markers=True, separator=";"),
    "3.1 teams": Assignment([], (3, 1), teams=True, groups=GROUPS),
    "4.2 teams": Assignment([], (4, 2), teams=True, groups=GROUPS),
    "5.0 teams ru flat": Assignment([], (5, 0), "ru", folders=False, teams=True, groups=GROUPS),
}


def of_class(site: Assignment, marked: Marked) -> Assignment:
    """Return the site with a class. Members of a team hand in the same notebook."""
    members = []
    for each in CLASS:
        mark = (each.group or "nobody") if site.teams else each.number
        members.append(replace(each, files={f"{NAME}.ipynb": marked(mark)} if each.came else None))
    return replace(site, members=members)


EVERY_COMMIT = ("4.1 ru, last name first, ID number", "4.1 ru blind", "4.5 en_us", "3.9 ru", "3.1 teams", "4.2 teams")
NIGHTLY = pytest.mark.nightly(twin="tests/grading/lms/test_moodle.py::test_from_moodle_and_back")


@pytest.mark.parametrize(
    "site",
    [pytest.param(site, id=name, marks=() if name in EVERY_COMMIT else NIGHTLY) for name, site in SITES.items()],
)
def test_from_moodle_and_back(
    course: Course, marked: Marked, tmp_path: Path, site: Assignment, capsys: pytest.CaptureFixture[str]
) -> None:
    site = of_class(site, marked)
    archive, sheet = site.archive(tmp_path / "all.zip"), site.worksheet(tmp_path / "w.csv")
    assert collect(course, archive, "--worksheet", sheet) == 0, capsys.readouterr().out
    came = [each for each in site.members if each.came]
    stamps = {path.read_text()[:16] for path in course.folder.glob("submitted/*/*/timestamp.txt")}
    assert stamps == {"2026-09-17 18:05"}, "the worksheet's time"
    assert len(list(course.folder.glob("submitted/*"))) == len(came)
    points = give_grades(course)
    marks = {folder_mark(course, student): score for student, score in points.items()}

    assert give_back(course) == 0, capsys.readouterr().out
    place = course.folder / "returned" / NAME
    site.import_worksheet((place / "worksheet.csv").read_bytes())
    pages = site.import_feedback((place / "moodle_feedback.zip").read_bytes())
    assert "upload worksheet.csv first" in capsys.readouterr().out.lower()
    for each in site.members:
        if not each.came:
            assert (each.grade, each.comment, each.number in pages) == ("", "", False)
            continue
        (mark,) = [mark for mark in marks if mark in (each.files or {})[f"{NAME}.ipynb"]]
        default_team = site.teams and not each.group and site.version >= (4, 1)
        if default_team:
            continue  # Moodle has no number for it, so that it takes no page
        assert [mark in page.decode() for page in pages[each.number].values()] == [True]
    for each in came:
        score = points[each.email.partition("@")[0]] if site.teams else marks[str(each.number)]
        assert float(each.grade.replace(",", ".")) == score * 10
