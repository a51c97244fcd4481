"""Blackboard's words in cells, user names within user names, and teams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from support.course import Course
from support.first_gradient import NAME
from support.lms import collect
from support.lms.blackboard import Attempt, Site, Student
from support.lms.quick_grades import folder_mark, give_back, give_grades

Marked = Callable[[object], str]
CAME = datetime(2026, 9, 17, 20, 15)


def handed_in(marked: Marked, user: str, given: str = "Ann", surname: str = "Lee") -> Student:
    return Student(user, given, surname, [Attempt(CAME, {f"{NAME}.ipynb": marked(user)})])


def submitted(course: Course) -> dict[str, str]:
    return {path.name: folder_mark(course, path.name) for path in (course.folder / "submitted").glob("*")}


@pytest.mark.parametrize(("word", "status"), [("Needs Grading", 0), ("In Progress", 0), ("Needs Grading(5.00)", 1)])
def test_a_state_is_no_grade_of_a_person(
    course: Course, marked: Marked, tmp_path: Path, word: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Grade Center's file has words where nobody has graded; behind a grade of an earlier attempt, too."""
    site = Site([replace(handed_in(marked, "ann"), score=word), handed_in(marked, "bo")], NAME)
    archive, file = site.archive(tmp_path / "all.zip"), site.grade_center(tmp_path / "gc.xls")
    assert collect(course, archive, "--gradebook", file) == 0
    points = give_grades(course)
    assert give_back(course, "--gradebook", file) == status
    said = capsys.readouterr().out
    assert ("ann: the grade '5.00' of a person stays" in said) == bool(status)
    assert (
        f"in blackboard_grades.csv only the column “{NAME} [Total Pts: 10 Score] |1281892” has changed"
        in said.replace("In", "in")
    )
    filled = (course.folder / "returned" / NAME / "blackboard_grades.csv").read_bytes().decode("utf-16")
    assert f'"{points["bo"]:.2f}"' in filled
    assert (f'"{word}"' in filled) == bool(status)


def test_our_own_grade_of_an_earlier_attempt_is_replaced(course: Course, marked: Marked, tmp_path: Path) -> None:
    site = Site([handed_in(marked, "ann"), handed_in(marked, "bo")], NAME)
    archive, file = site.archive(tmp_path / "all.zip"), site.grade_center(tmp_path / "gc.xls")
    assert collect(course, archive, "--gradebook", file) == 0
    points = give_grades(course)
    assert give_back(course, "--gradebook", file) == 0
    site.import_grades((course.folder / "returned" / NAME / "blackboard_grades.csv").read_bytes())
    site.students[1].attempts.append(Attempt(CAME.replace(hour=21), {f"{NAME}.ipynb": marked("a better one")}))
    site.students[1].score = f"Needs Grading({site.students[1].score})"
    archive, file = site.archive(tmp_path / "2.zip"), site.grade_center(tmp_path / "gc2.xls")
    assert collect(course, archive, "--gradebook", file) == 0
    again = give_grades(course)
    assert again["bo"] != points["bo"]
    assert give_back(course, "--gradebook", file) == 0
    site.import_grades((course.folder / "returned" / NAME / "blackboard_grades.csv").read_bytes())
    assert site.students[1].score == f"{again['bo']:.2f}"


def test_a_user_name_within_a_user_name(
    course: Course, marked: Marked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Is "homework_1_lee" of lee, or of 1_lee in an assignment "homework"? The receipts tell, nothing else."""
    site = Site([handed_in(marked, "lee"), Student("1_lee", "Ida", "Lee")], "homework_1")
    file, without = site.grade_center(tmp_path / "gc.xls"), replace(site, receipts=False)
    assert collect(course, without.archive(tmp_path / "1.zip"), "--gradebook", file) == 1
    assert submitted(course) == {}
    assert (
        "it may be 1_lee (Ida Lee) or lee (Ann Lee): collect the archive as Blackboard gives it"
        in capsys.readouterr().out
    )
    assert collect(course, site.archive(tmp_path / "2.zip")) == 0
    assert submitted(course) == {"lee": "lee"}


@pytest.mark.parametrize("team", ["Team 7", "R & D", "Команда_1", "lab_2"])
def test_a_team_in_the_place_of_a_user(course: Course, marked: Marked, tmp_path: Path, team: str) -> None:
    lines = [f"ann,Ann Lee,{team}", f"bo,Bo Neil,{team}", "ida,Ida Kim,"]
    (course.folder / "students.csv").write_text("\n".join(["id,name,group", *lines]), encoding="utf-8")
    site = Site([handed_in(marked, team), handed_in(marked, "ida")], "Home work_1", receipts=False)
    assert collect(course, site.archive(tmp_path / "all.zip")) == 0
    assert submitted(course) == {"ann": team, "bo": team, "ida": "ida"}
