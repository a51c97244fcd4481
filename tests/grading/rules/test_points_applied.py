"""Points in `course.toml` are a rule like others: they change no grade until they are applied."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.cli import main
from support.course import Course
from support.first_gradient import CHECK, FIRST, NAME, SOLVED, TOTAL, WRONG

MORE = FIRST.points + 6
RULES = f"[assignments.{NAME}]\npoints = {{{FIRST.name} = {MORE:g}}}\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = Course.make(tmp_path_factory.mktemp("points") / "course")
    course.hand_in("ann", SOLVED)
    course.hand_in("bo", {**SOLVED, FIRST.name: WRONG})
    course.grade()
    (course.folder / "course.toml").write_text(RULES)
    return course


def said_by(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    capsys.readouterr()
    assert main([*map(str, command)]) == 0
    return "".join(capsys.readouterr())


def renew(course: Course) -> None:
    """Make the notebooks anew, and grade."""
    assert main(["course", str(course.folder)]) == 0
    course.nbgrader("generate_assignment", NAME, "--force")
    course.grade()


def maximum(course: Course) -> float:
    with course.gradebook() as gradebook:
        return float(gradebook.find_assignment(NAME).max_score)


BEFORE = {"ann": TOTAL, "bo": TOTAL - FIRST.points}
LINES = [
    f"  {NAME}, ann: {TOTAL:g} of {TOTAL:g} points before, {TOTAL + 6:g} of {TOTAL + 6:g} points now\n",
    f"  {NAME}, bo: {BEFORE['bo']:g} of {TOTAL:g} points before, {BEFORE['bo']:g} of {TOTAL + 6:g} points now\n",
]


def test_other_points_wait_until_they_are_applied(
    graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = graded.copy(tmp_path)
    said = said_by(capsys, "course", course.folder, "--check")
    assert "graded submissions: 2 would change\n" in said
    assert all(line in said for line in LINES)
    assert "not applied yet" in said
    said = said_by(capsys, "course", course.folder)
    assert f"{NAME} keeps its points, for other ones would change grades: `autograder course " in said
    course.nbgrader("generate_assignment", NAME, "--force")
    said = said_by(capsys, "grade", course.folder)
    assert "It was not applied, because grades would change" in said
    assert all(line in said for line in LINES)
    assert "2 submissions: 2 unchanged" in said
    assert (course.scores(), maximum(course)) == (BEFORE, TOTAL)

    said = said_by(capsys, "course", course.folder, "--apply")
    assert "graded submissions: 2 changed\n" in said
    course.grade()
    after = {**BEFORE, "ann": TOTAL + 6}
    assert (course.scores(), maximum(course)) == (after, TOTAL + 6)
    renew(course)
    assert (course.scores(), maximum(course)) == (after, TOTAL + 6)
    assert "graded submissions: none would change" in said_by(capsys, "course", course.folder, "--check")


@pytest.mark.nightly(twin="tests/grading/rules/test_points_applied.py::test_other_points_wait_until_they_are_applied")
def test_points_that_are_taken_away_again_wait_as_well(
    graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = graded.copy(tmp_path)
    assert main(["course", str(course.folder), "--apply"]) == 0
    renew(course)
    (course.folder / "course.toml").write_text(f"[assignments.{NAME}]\n")
    renew(course)
    assert maximum(course) == TOTAL + 6
    said = said_by(capsys, "course", course.folder, "--check")
    assert f"ann: {TOTAL + 6:g} of {TOTAL + 6:g} points before, {TOTAL:g} of {TOTAL:g} points now" in said
    assert main(["course", str(course.folder), "--apply"]) == 0
    renew(course)
    assert (course.scores(), maximum(course)) == (BEFORE, TOTAL)


def test_points_by_hand_stay(graded: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = graded.copy(tmp_path)
    course.give_by_hand("bo", CHECK, 2)
    said = said_by(capsys, "course", course.folder, "--apply")
    assert f"bo: {BEFORE['bo'] + 2:g} of {TOTAL:g} points before, {BEFORE['bo'] + 2:g} of {TOTAL + 6:g}" in said
    course.grade()
    assert course.scores()["bo"] == BEFORE["bo"] + 2


def test_the_first_grading_takes_the_points_that_are_written(tmp_path: Path) -> None:
    course = Course.make(tmp_path / "course")
    (course.folder / "course.toml").write_text(RULES)
    course.hand_in("ann", SOLVED)
    course.grade()
    assert course.scores() == {"ann": TOTAL + 6}
