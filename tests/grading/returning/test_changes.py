"""`autograder return` after changes: of rules, of attempts, of the list of students."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autograder.cli import main
from autograder.grading.gradebook.book import Book
from autograder.grading.gradebook.scores import NotebookScores, Score
from support.course import Course
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL, WRONG
from support.lms import collect, write_archive

Work = Callable[..., str]  # see the fixture `work`
RULES = f"[assignments.{NAME}]\ndue = 2026-09-17T21:00:00\nlate = [{{until = '2d', credit = 50}}]\n"


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Ann and Bo, a day late, graded with half the points."""
    course = Course.make(tmp_path_factory.mktemp("changes") / "course", languages=["en"])
    (course.folder / "course.toml").write_text(RULES)
    (course.folder / "students.csv").write_text("id,name,extensions,dropped\nann,Ann Lee,,\nbo,Bo Li,,\n")
    for student in ("ann", "bo"):
        course.hand_in(student, SOLVED, came="2026-09-18 12:00:00 UTC")
    course.grade()
    return course


def give_back(course: Course) -> int:
    return main(["return", str(course.folder)])


def points(course: Course) -> dict[str, float]:
    with (course.folder / "returned" / NAME / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["id"]: float(row["points"]) for row in csv.DictReader(file)}


def test_changed_rules_are_applied_before(late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = late.copy(tmp_path)
    assert give_back(course) == 0
    assert points(course) == {"ann": TOTAL / 2, "bo": TOTAL / 2}
    (course.folder / "students.csv").write_text(f"id,name,extensions\nann,Ann Lee,{NAME} +2d\nbo,Bo Li,\n")
    capsys.readouterr()
    assert give_back(course) == 1
    said = capsys.readouterr().err
    assert f"{NAME}, ann: " in said
    assert "nothing was returned: run `autograder course " in said
    assert main(["course", str(course.folder), "--apply"]) == 0
    assert give_back(course) == 0
    assert points(course) == {"ann": TOTAL, "bo": TOTAL / 2}


def test_a_corrected_time_is_graded_before(
    late: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path / "copy")
    archive = write_archive(tmp_path / "new.zip", {f"Ann Lee/{NAME}.ipynb": work("new")})
    assert collect(course, archive) == 0
    assert main(["grade", str(course.folder), "--student", "ann"]) == 0
    assert give_back(course) == 0
    (course.folder / "times.csv").write_text(f"id,assignment,time\nann,{NAME},2026-09-18 13:00\n")
    assert collect(course, archive) == 0
    capsys.readouterr()
    assert give_back(course) == 1
    assert "ann: no grade: another attempt counts now" in capsys.readouterr().out
    assert main(["grade", str(course.folder)]) == 0
    assert "autograder return " in capsys.readouterr().out.partition("next: ")[2]
    assert give_back(course) == 0


def test_a_newer_attempt_is_graded_before(
    late: Course, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path / "copy")
    assert collect(course, write_archive(tmp_path / "new.zip", {f"Ann Lee/{NAME}.ipynb": work("new")})) == 0
    assert give_back(course) == 1
    assert "ann: no grade: another attempt counts now" in capsys.readouterr().out
    assert points(course) == {"bo": TOTAL / 2}
    course.grade()
    assert give_back(course) == 0
    assert sorted(points(course)) == ["ann", "bo"]


def test_a_grade_that_falls_is_named(late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = late.copy(tmp_path)
    course.hand_in("ann", {**SOLVED, FIRST.name: WRONG}, came="2026-09-18 12:00:00 UTC")
    assert main(["grade", str(course.folder)]) == 0
    fell = (TOTAL - FIRST.points) / 2
    said = capsys.readouterr().out
    assert f"fallen: {NAME}, ann: {TOTAL / 2:g} points before, {fell:g} now\n" in said
    assert said.count("fallen: ") == 1


def test_a_dropped_student_is_kept_and_not_returned(
    late: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = late.copy(tmp_path)
    (course.folder / "students.csv").write_text(
        "id,name,extensions,dropped\nann,Ann Lee,,2026-10-01\nbo,Bo Li,,\nida,Ida Kim,,yes\n"
    )
    assert give_back(course) == 0
    said = capsys.readouterr().out
    assert "dropped in students.csv, so not returned: ann (Ann Lee)" in said
    assert "no submission" not in said
    assert points(course) == {"bo": TOTAL / 2}
    assert "ann" not in (course.folder / "returned" / "total.csv").read_text(encoding="utf-8-sig")
    assert course.submitted("ann").is_file()


def test_a_new_name_reaches_formgrader_and_the_page(late: Course, tmp_path: Path) -> None:
    course = late.copy(tmp_path)
    assert give_back(course) == 0
    assert "Ann Lee" in course.feedback("ann")
    (course.folder / "students.csv").write_text("id,name\nann,Ann Neumann\nbo,Bo Li\n", encoding="utf-8")
    course.grade()
    with course.gradebook() as gradebook:
        assert gradebook.find_student("ann").last_name == "Neumann"
    assert give_back(course) == 0
    assert "Ann Neumann" in course.feedback("ann")


def test_an_assignment_that_was_removed_is_left_out(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course.hand_in("ann", SOLVED)
    course.grade()
    removed = "10_removed"
    with course.gradebook() as gradebook:
        gradebook.add_assignment(removed)
    shutil.copytree(course.autograded("ann").parent, course.folder / "autograded" / "ann" / removed)
    assert main(["return", str(course.folder)]) == 0
    total = course.folder / "returned" / "total.csv"
    assert removed in total.read_text(encoding="utf-8-sig")
    course.nbgrader("db", "assignment", "remove", removed, "--force")
    (course.folder / "course.toml").write_text(f"[assignments.{removed}]\nlessons = ['{NAME}']\nexercises = ['x']\n")
    capsys.readouterr()
    assert main(["return", str(course.folder)]) == 0
    said = capsys.readouterr().out
    assert f"{removed} is not in the gradebook any more, so it is left out" in said
    header = total.read_text(encoding="utf-8-sig").splitlines()[0]
    assert NAME in header
    assert removed not in header
    assert main(["course", str(course.folder), "--check"]) == 0
    assert main(["return", str(course.folder), removed]) == 1
    assert f"{removed} is not in the gradebook" in capsys.readouterr().err


def with_second(course: Course, students: Sequence[str], due: str = "") -> dict[str, dict[str, str]]:
    """Let `students` hand in a second assignment of 4 points as well, and return everybody's line of the total."""
    with course.gradebook() as gradebook:
        gradebook.add_assignment(SECOND)
        gradebook.add_notebook("x", SECOND)
        gradebook.add_grade_cell("x", "x", SECOND, max_score=4, cell_type="code")
        for student in students:
            Book(gradebook).write(SECOND, student, None, {"x": NotebookScores({"x": Score(3.0, False)})}, {})
            for kind in ("submitted", "autograded"):
                (course.folder / kind / student / SECOND).mkdir(parents=True)
    with (course.folder / "course.toml").open("a") as file:
        file.write(f"[assignments.{SECOND}]\nlessons = ['{NAME}']\n{due}\n")
    main(["course", str(course.folder), "--apply"])
    main(["return", str(course.folder)])
    with (course.folder / "returned" / "total.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


SECOND, FIVE = "10_second", ["ann", "bo", "cy", "di", "ed"]


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = Course.make(tmp_path_factory.mktemp("five") / "course", languages=["en"])
    for student in FIVE:
        course.hand_in(student, SOLVED)
    course.grade()
    return course


@pytest.mark.parametrize(
    ("students", "due", "counts", "why"),
    [
        (["ann"], "", False, "ann alone handed it in"),
        (["ann"], "due = 2099-01-01T12:00:00", False, "it is due 2099-01-01 12:00"),
        (FIVE, "due = 2099-01-01T12:00:00", False, "it is due 2099-01-01 12:00"),
        (["ann"], "due = 2026-01-01T12:00:00", True, ""),
        (["ann", "bo"], "", True, ""),
    ],
)
def test_an_early_or_wrong_hand_in_changes_nobody_s_total(
    five: Course,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    students: list[str],
    due: str,
    counts: bool,
    why: str,
) -> None:
    rows = with_second(five.copy(tmp_path), students, due)
    assert {float(row["maximum"]) for row in rows.values()} == {TOTAL + (4 if counts else 0)}
    assert float(rows["ann"]["total"]) == TOTAL + (3 if counts else 0)
    assert float(rows["ann"][SECOND]) == 3
    assert {row["not due yet"] for row in rows.values()} == {"" if counts else SECOND}
    said = capsys.readouterr().out
    assert (f"{SECOND} is not in it yet: {why}" in said) != counts
