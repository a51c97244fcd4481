"""A hand-in that an instructor takes out of an assignment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course, files_below
from support.first_gradient import CHECK, NAME, TOTAL
from support.lms import collect, write_archive

Work = Callable[..., str]  # see the fixture `work`


@pytest.fixture
def graded(course: Course, work: Work, tmp_path: Path) -> Course:
    """Ann with two attempts and a person's points, and Bo. Both are graded and returned."""
    (course.folder / "students.csv").write_text("id,name\nann,Ann Lee\nbo,Bo Li\n")
    collect(course, write_archive(tmp_path / "one.zip", {f"Ann Lee/{NAME}.ipynb": work()}))
    both = {f"Ann Lee/{NAME}.ipynb": work("two"), f"Bo Li/{NAME}.ipynb": work()}
    collect(course, write_archive(tmp_path / "two.zip", both))
    course.grade()
    course.give_by_hand("ann", CHECK, 0.5)
    assert main(["return", str(course.folder)]) == 0
    return course


def withdraw(course: Course, *students: str) -> int:
    return main(["withdraw", str(course.folder), NAME, *students])


def test_nothing_is_lost_and_nothing_stays(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    before = graded.submitted("ann").read_bytes()
    assert "renamed" not in capsys.readouterr().out, "the folder with a student's name is none of theirs"
    assert withdraw(graded, "ann") == 0
    assert f"ann (Ann Lee): {NAME} withdrawn; work, points and comments are in" in capsys.readouterr().out
    kept = graded.folder / "withdrawn" / NAME / "ann" / "1"
    assert (kept / "submitted" / f"{NAME}.ipynb").read_bytes() == before
    assert len([*(kept / "attempts").iterdir()]) == 2
    assert (kept / "autograded" / f"{NAME}.ipynb").is_file()
    assert (kept / "feedback" / f"{NAME}.html").is_file()
    said = json.loads((kept / "grades.json").read_text(encoding="utf-8"))
    assert said["cells"][CHECK]["by hand"] == 0.5
    assert [*said["comments by hand"].values()] == ["see me"]
    assert graded.scores() == {"bo": TOTAL}
    assert main(["grade", str(graded.folder)]) == 0
    out = capsys.readouterr().out
    assert "1 submission: 1 unchanged" in out
    assert "ann" not in out
    assert main(["return", str(graded.folder)]) == 0
    assert "no submission: ann (Ann Lee)" in capsys.readouterr().out


def test_the_same_work_does_not_come_back_by_itself(
    graded: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    withdraw(graded, "ann")
    capsys.readouterr()
    for name in ("one.zip", "two.zip"):
        collect(graded, tmp_path / name)
        assert f"ann (Ann Lee): {NAME} not taken, for it was withdrawn" in capsys.readouterr().out
    assert not graded.submitted("ann").exists()
    graded.hand_in("ann", work("two"), came="2026-09-18 12:00:00 UTC")  # as `nbgrader collect` brings it
    graded.grade()
    assert f"ann: {NAME} not taken, for it was withdrawn" in capsys.readouterr().err
    assert graded.scores() == {"bo": TOTAL}
    assert collect(graded, write_archive(tmp_path / "new.zip", {f"Ann Lee/{NAME}.ipynb": work("three")})) == 0
    graded.grade()
    assert graded.scores() == {"ann": TOTAL, "bo": TOTAL}
    returned = graded.folder / "returned" / NAME
    assert returned.is_dir()
    assert withdraw(graded, "ann", "bo") == 0
    assert graded.scores() == {}
    assert not returned.exists(), "nobody uploads grades that are gone"
    assert sorted(each.name for each in (graded.folder / "withdrawn" / NAME / "ann").iterdir()) == ["1", "2"]


def test_a_withdrawal_is_undone_with_points_and_comments(
    graded: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = graded.scores(), graded.by_hand("ann", CHECK), files_below(graded.folder / "attempts")
    withdraw(graded, "ann")
    assert withdraw(graded, "--undo", "ann") == 0
    assert f"ann (Ann Lee): {NAME} is back" in capsys.readouterr().out
    assert not (graded.folder / "withdrawn" / NAME / "ann" / "1").exists()
    assert main(["grade", str(graded.folder)]) == 0
    assert "2 submissions: 2 unchanged" in capsys.readouterr().out
    assert (graded.scores(), graded.by_hand("ann", CHECK), files_below(graded.folder / "attempts")) == before
    assert withdraw(graded, "--undo", "ann") == 1
    assert "nothing of ann was withdrawn" in capsys.readouterr().err

    withdraw(graded, "ann")
    collect(graded, write_archive(tmp_path / "new.zip", {f"Ann Lee/{NAME}.ipynb": work("three")}))
    assert withdraw(graded, "--undo", "ann") == 0
    assert "handed in again since, so only attempts are back" in capsys.readouterr().out
    assert len([*(graded.folder / "attempts" / "ann" / NAME).iterdir()]) == 3
    kept = json.loads((graded.folder / "withdrawn" / NAME / "ann" / "1" / "grades.json").read_text(encoding="utf-8"))
    assert kept["cells"][CHECK]["by hand"] == 0.5, "the new hand-in has no place for them"
    assert withdraw(graded, "--undo", "ann") == 1
    graded.grade()
    assert graded.scores() == {"ann": TOTAL, "bo": TOTAL}


def test_a_grade_in_an_lms_is_named(graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "grades.csv"
    sheet.write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,{NAME} (77)\nPoints Possible,,,,,10\nLee Ann,1,,ann,A,\n"
        "Bo Li,2,,bo,A,\n"
    )
    assert main(["return", str(graded.folder), NAME, "--gradebook", str(sheet)]) in (0, 1)
    capsys.readouterr()
    assert withdraw(graded, "bo") == 0
    assert "bo (Bo Li): Canvas was given a grade of it: take it out there, too" in capsys.readouterr().out


def test_who_has_nothing_there_is_refused(graded: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert withdraw(graded, "anne") == 1
    assert f"anne has nothing in {NAME} to withdraw; is it one of these: ann?" in capsys.readouterr().err
    assert withdraw(graded, "ann") == 0
    assert withdraw(graded, "ann") == 1
    assert graded.scores() == {"bo": TOTAL}


def test_one_attempt_is_withdrawn_and_another_counts(
    graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = [*(graded.folder / "attempts" / "ann" / NAME).glob("*/*.ipynb")]
    last = graded.submitted("ann").read_bytes()
    (first,) = (path.read_bytes() for path in stored if path.read_bytes() != last)
    assert withdraw(graded, "ann", "--attempt", "3") == 1
    assert f"ann has 2 attempts at {NAME}" in capsys.readouterr().err
    assert withdraw(graded, "ann", "--attempt", "2") == 0
    assert f"ann (Ann Lee): attempt 2 at {NAME} withdrawn" in capsys.readouterr().out
    assert graded.submitted("ann").read_bytes() == first
    assert withdraw(graded, "ann", "--attempt", "1") == 1
    assert "without --attempt all is withdrawn" in capsys.readouterr().err
    collect(graded, tmp_path / "two.zip")
    graded.grade()
    assert graded.submitted("ann").read_bytes() == first
    assert withdraw(graded, "ann", "--undo") == 0
    graded.grade()
    assert len([*(graded.folder / "attempts" / "ann" / NAME).iterdir()]) == 2
    with pytest.raises(SystemExit):
        withdraw(graded, "ann", "bo", "--attempt", "1")
