"""Blackboard: attempts, zips and receipts come in, and the Grade Center's file goes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import collect
from support.lms.blackboard import Attempt, Site, Student
from support.lms.files import zipped
from support.lms.quick_grades import folder_mark, give_back, give_grades

Marked = Callable[[object], str]
FIRST, SECOND = datetime(2026, 9, 16, 10, 30), datetime(2026, 9, 17, 20, 15)


@pytest.mark.parametrize(
    ("language", "with_file"),
    [
        ("en_GB", False),
        ("ru", True),
        pytest.param(
            "en_US",
            True,
            marks=pytest.mark.nightly(twin="tests/grading/lms/test_blackboard.py::test_from_blackboard_and_back"),
        ),
    ],
)
def test_from_blackboard_and_back(
    course: Course,
    marked: Marked,
    tmp_path: Path,
    language: str,
    with_file: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    twice = [Attempt(at, {"x.ipynb": marked(at)}) for at in (FIRST, SECOND)]
    packed = zipped({"lesson.ipynb": marked("zip")}, datetime(2030, 1, 1))
    site = Site(
        [
            Student("anna_petrova", "Анна", "Петрова", twice),
            Student("petrova", "Анна", "Петрова", [Attempt(SECOND, {"work.zip": packed})]),
            Student("bo.li@uni.example", "Bo", "Li (2)", [Attempt(FIRST, {f"{NAME}.ipynb": marked("bo")})]),
            Student("idle", "Ida", "Kim"),
        ],
        f"{NAME} homework_1",
        language,
        points=20,
    )
    archive, file = site.archive(tmp_path / "all.zip"), site.grade_center(tmp_path / "gc.xls")
    more = ["--worksheet", file] if with_file else []
    assert collect(course, archive, *more) == 0, capsys.readouterr().out
    bo = "bo.li" if with_file else "bo.li@uni.example"
    stamps = {path.parents[1].name: path.read_text()[:16] for path in course.folder.glob("submitted/*/*/timestamp.txt")}
    assert stamps == {"anna_petrova": "2026-09-17 20:15", "petrova": "2026-09-17 20:15", bo: "2026-09-16 10:30"}
    assert "Анна Петрова" in (course.folder / "students.csv").read_text(encoding="utf-8")
    points = give_grades(course)
    assert folder_mark(course, "anna_petrova") == str(SECOND)
    assert give_back(course) == 0
    assert "download it (Work Offline), and give the file to `autograder return`" in capsys.readouterr().out
    assert give_back(course, "--worksheet", file) == 0, capsys.readouterr().out
    place = course.folder / "returned" / NAME
    site.import_grades((place / "blackboard_grades.csv").read_bytes())
    wanted = {"anna_petrova": points["anna_petrova"], "petrova": points["petrova"], "bo.li@uni.example": points[bo]}
    scores = {each.user: each.score for each in site.students}
    assert scores == {**{user: f"{got * 2:.2f}" for user, got in wanted.items()}, "idle": ""}
    assert sorted(path.parent.name for path in place.glob("feedback/*/*.html")) == sorted(stamps)
