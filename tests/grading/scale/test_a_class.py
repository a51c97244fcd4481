"""A class with teams and awkward names, graded on Dask workers: results equal to those of one machine."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from support.course import Course, files_below
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL, WRONG
from support.lms import collect
from support.lms.moodle import Assignment, Member
from support.submissions import Submission, read
from support.watching import Watching

pytestmark = pytest.mark.long(20)

CAME, AGAIN = datetime(2026, 9, 17, 18, 5), datetime(2026, 9, 20, 1, 30)
GROUPS = {"R & D": 101, "a < b": 3, "Команда «Ё», 7": 8}
RULES = f"""
[assignments.{NAME}]
due = 2026-09-17T20:00:00
late = [{{until = "99d", credit = 50}}]
"""
CLASS = [
    Member(1, "Пётр", "О’Нил-Ёлкин", "petr@uni.example", group="R & D"),
    Member(2, "Ann, Maria", 'Lee "Al"', "ann@uni.example", group="R & D"),
    Member(3, "=SUM(1)", "李 🦊", "li@uni.example"),  # the number of a team is that of somebody else
    Member(4, "Bo", "Neil", "bo@uni.example", group="a < b"),
    Member(5, "Bo", "Neil", "bo2@uni.example", group="a < b"),
    Member(6, "A" * 190, "Kim", "kim@uni.example", group="Команда «Ё», 7"),
]
HALF = {**SOLVED, FIRST.name: WRONG}


def hand_in(
    course: Course, site: Assignment, team: str, answers: dict[str, str], came: datetime, asks: str = ""
) -> None:
    made = Submission("x", "en", answers).notebook(read(course.released("en")))
    if asks:
        made.cells.insert(3, nbformat.v4.new_markdown_cell(f"Regrade: {asks}"))
    for member in site.members:
        if member.group == team:
            member.files, member.came = {f"{NAME}.ipynb": nbformat.writes(made)}, came


def collect_all(course: Course) -> Path:
    """Collect two archives, the second with a request to look again. Returns the worksheet."""
    above = course.folder.parent
    site = Assignment([replace(each) for each in CLASS], (5, 1), teams=True, groups=GROUPS)
    (course.folder / "course.toml").write_text(RULES, encoding="utf-8")
    (course.folder / "times.csv").write_text(f"id,assignment,time\nli,{NAME},2026-09-18 09:00\n", encoding="utf-8")
    hand_in(course, site, "R & D", HALF, CAME)
    hand_in(course, site, "a < b", HALF, CAME)
    archive, sheet = site.archive(above / "first.zip"), site.worksheet(above / "first.csv")
    assert collect(course, archive, "--worksheet", sheet) == 0
    hand_in(course, site, "R & D", HALF, AGAIN, asks="our None is right")
    hand_in(course, site, "a < b", SOLVED, AGAIN)
    hand_in(course, site, "Команда «Ё», 7", {}, CAME)
    archive, sheet = site.archive(above / "second.zip"), site.worksheet(above / "second.csv")
    assert collect(course, archive, "--worksheet", sheet) == 0
    return sheet


def outcome(course: Course, sheet: Path) -> dict[str, object]:
    """Answer the request, return all, and tell what is there then."""
    assert main(["requests", str(course.folder), NAME, "--student", "ann", "--answer", "It must be a number."]) == 0
    assert main(["return", str(course.folder), NAME, "--worksheet", str(sheet)]) == 0
    place = course.folder / "returned" / NAME
    with zipfile.ZipFile(place / "moodle_feedback.zip") as archive:
        pages = sorted(archive.namelist())
    return {
        "scores": course.scores(),
        "late penalties": course.owed(),
        "pages": pages,
        "returned": {path.name: path.read_bytes() for path in place.glob("*.csv")},
        **{name: by_student(course.folder / name) for name in ("submitted", "autograded")},
    }


def by_student(folder: Path) -> dict[tuple[str, str], bytes]:
    """Return files by student and name: `watch` leaves out the folder in which a file arrived."""
    return {(path.partition("/")[0], Path(path).name): text for path, text in files_below(folder).items()}


@pytest.mark.nightly(twin="tests/grading/scale/test_dask.py::test_a_worker_gives_the_same_results")
def test_dask_and_watch_give_a_class_the_same_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One copy is graded on two workers and by `watch`, the other by `grade` alone."""
    many = Course.make(tmp_path / "many" / "course")
    sheet = collect_all(many)
    one = many.copy(tmp_path / "one")
    assert "petr (Пётр О’Нил-Ёлкин): asks to look again with the same answers" in capsys.readouterr().out
    inbox = tmp_path / "inbox"
    inbox.mkdir()

    assert main(["grade", str(many.folder), "--scheduler", "local:2"]) == 0
    with Watching(many.folder, inbox, "--isolation=none") as watch:
        many.hand_in("li", SOLVED, folder=inbox / "李 🦊 =SUM(1)", name="final")
        watch.wait_for(f"{NAME}, li: graded, {TOTAL:g} points")
        watch.interrupt()

    assert collect(one, inbox) == 0
    assert main(["grade", str(one.folder)]) == 0
    found = outcome(many, sheet)
    assert found == outcome(one, sheet)
    points = TOTAL - FIRST.points
    scores = {"petr": points, "ann": points, "li": TOTAL, "bo": TOTAL, "bo2": TOTAL, "kim": 0}
    assert found["scores"] == scores
    assert found["late penalties"] == {**dict.fromkeys(scores, 0), **dict.fromkeys(("bo", "bo2", "li"), TOTAL / 2)}
