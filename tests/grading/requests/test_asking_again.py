"""Asking to look again costs nothing: neither points nor late days nor attempts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder.cli import main
from support.course import Course, files_below
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL, WRONG
from support.lms import Participant, collect, moodle_folder, write_archive, write_worksheet
from support.submissions import Submission, read

RULES = """
late_days = {late_days}
[assignments.{name}]
due = 2026-09-17T20:00:00
late = [{{until = "99d", credit = 50}}]
{more}
"""
HALF = {**SOLVED, FIRST.name: WRONG}
POINTS = TOTAL - FIRST.points
ASKS = f"Regrade: {FIRST.name}, my None is right"
CAME, AGAIN = datetime(2026, 9, 17, 18, 5), datetime(2026, 9, 20, 1, 30)
LATE = datetime(2026, 9, 18, 1, 30)
SAID = "asks to look again with the same answers: counts as handed in 2026-09-17 18:05, with the attempt it is about"

Edit = Callable[[nbformat.NotebookNode], None]


def state(rules: Course, more: str = "", late_days: int = 0) -> None:
    text = RULES.format(name=NAME, more=more, late_days=late_days)
    (rules.folder / "course.toml").write_text(text, encoding="utf-8")


def notebook(course: Course, answers: dict[str, str], *edits: Edit) -> str:
    made = Submission("bo", "en", answers).notebook(read(course.released("en")))
    for edit in edits:
        edit(made)
    return str(nbformat.writes(made))


def asks(made: nbformat.NotebookNode) -> None:
    """Ask in a new cell, and run the notebook again, which changes counts."""
    made.cells.insert(3, nbformat.v4.new_markdown_cell(ASKS))
    for number, cell in enumerate(cell for cell in made.cells if cell.cell_type == "code"):
        cell.execution_count = number + 100


def adds_code(made: nbformat.NotebookNode) -> None:
    made.cells.insert(4, nbformat.v4.new_code_cell("import math"))


class Moodle:
    """A student who hands in through Moodle."""

    def __init__(self, course: Course, folder: Path) -> None:
        self._course, self._folder, self._count = course, folder, 0

    def hand_in(self, text: str, came: datetime, **beside: str) -> None:
        self._count += 1
        bo = Participant(7, "Bo Neil", "", "bo@uni.example", came)
        files = {f"{moodle_folder(bo)}/{name.replace('_txt', '.txt')}": text for name, text in beside.items()}
        files[f"{moodle_folder(bo)}/{NAME}.ipynb"] = text
        archive = write_archive(self._folder / f"{self._count}.zip", files)
        sheet = write_worksheet(self._folder / f"{self._count}.csv", [bo])
        assert collect(self._course, archive, "--worksheet", sheet) == 0

    def collect_all_again(self) -> None:
        for number in range(1, self._count + 1):
            sheet = self._folder / f"{number}.csv"
            assert collect(self._course, self._folder / f"{number}.zip", "--worksheet", sheet) == 0


class Exchange:
    """A student whose work `nbgrader collect --update` puts into the place of the earlier one."""

    def __init__(self, course: Course, folder: Path) -> None:
        self._course = course

    def hand_in(self, text: str, came: datetime, **beside: str) -> None:
        for path in self._course.submitted("bo").parent.glob("*"):
            path.unlink()
        files = {name.replace("_txt", ".txt"): text for name, text in beside.items()}
        self._course.hand_in("bo", text, came=f"{came:%Y-%m-%d %H:%M:%S} UTC", beside=files)

    def collect_all_again(self) -> None:
        pass


@pytest.fixture(params=[Moodle, Exchange])
def student(request: pytest.FixtureRequest, course: Course, tmp_path: Path) -> Moodle | Exchange:
    state(course)
    made: Moodle | Exchange = request.param(course, tmp_path)
    return made


def standing(course: Course) -> tuple[float, float]:
    """Score and late penalty."""
    return course.scores()["bo"], course.owed()["bo"]


def said_by(capsys: pytest.CaptureFixture[str], *command: object) -> str:
    capsys.readouterr()
    assert main([*map(str, command)]) == 0
    return capsys.readouterr().out


def test_a_request_changes_no_grade(
    course: Course, student: Moodle | Exchange, capsys: pytest.CaptureFixture[str]
) -> None:
    student.hand_in(notebook(course, HALF), CAME)
    course.grade()
    assert standing(course) == (POINTS, 0)
    student.hand_in(notebook(course, HALF, asks), AGAIN)
    if isinstance(student, Moodle):
        said = capsys.readouterr().out
        assert f"bo (Bo Neil): {NAME} kept as a request to look again, 2026-09-20 01:30 (worksheet)\n" in said
        assert f"bo (Bo Neil): {SAID}\n" in said
    assert f"  bo: {SAID}\n" in said_by(capsys, "grade", course.folder)
    assert standing(course) == (POINTS, 0)
    before = {name: files_below(course.folder / name) for name in ("submitted", "attempts", "autograded")}
    student.collect_all_again()
    said = said_by(capsys, "requests", course.folder)
    assert "1 open request, 0 answered" in said
    assert "handed in 2026-09-20 01:30 (UTC+00:00):" in said
    assert "my None is right" in said
    assert f"  bo: {SAID}\n" in said
    assert course.grade()["bo"]["state"] == "unchanged"
    assert {name: files_below(course.folder / name) for name in before} == before
    assert len(list((course.folder / "attempts" / "bo" / NAME).iterdir())) == 2, "nothing is lost"

    main(["requests", str(course.folder), NAME, "--student", "bo", "--answer", "It must be a number."])
    assert main(["feedback", str(course.folder)]) == 0
    assert "It must be a number." in course.feedback("bo")
    assert "Handed in:" not in course.feedback("bo"), "no word on lateness"
    assert SAID not in said_by(capsys, "grade", course.folder)


def test_requests_tells_it_before_anything_is_graded_again(
    course: Course, student: Moodle | Exchange, capsys: pytest.CaptureFixture[str]
) -> None:
    student.hand_in(notebook(course, HALF), CAME)
    course.grade()
    student.hand_in(notebook(course, HALF), AGAIN, regrade_txt="why?")
    said = said_by(capsys, "requests", course.folder)
    assert "why?" in said
    assert f"  bo: {SAID}\n" in said


@pytest.mark.parametrize(
    ("answers", "edit", "beside"),
    [
        (SOLVED, asks, {}),
        ({**HALF, FIRST.name: f"{WRONG}  # x"}, asks, {}),
        (HALF, adds_code, {"regrade_txt": "why?"}),
        (HALF, asks, {"helper.py": "x = 1"}),
    ],
    ids=["another answer", "a comment", "another cell", "another file"],
)
def test_a_request_with_other_answers_is_an_attempt(
    course: Course, student: Moodle | Exchange, answers: dict[str, str], edit: Edit, beside: dict[str, str]
) -> None:
    student.hand_in(notebook(course, HALF), CAME)
    course.grade()
    student.hand_in(notebook(course, answers, edit), AGAIN, **beside)
    course.grade()
    points = TOTAL if answers == SOLVED else POINTS
    assert standing(course) == (points, points / 2)


def test_the_same_answers_without_a_request_are_an_attempt(course: Course, student: Moodle | Exchange) -> None:
    student.hand_in(notebook(course, HALF), CAME)
    course.grade()
    student.hand_in(notebook(course, HALF), AGAIN, notes_txt="thanks")
    course.grade()
    assert standing(course) == (POINTS, POINTS / 2)


def test_a_request_takes_no_late_day(course: Course, student: Moodle | Exchange) -> None:
    state(course, late_days=1)
    student.hand_in(notebook(course, HALF), LATE)
    course.grade()
    assert standing(course) == (POINTS, 0), "paid for by the late day"
    student.hand_in(notebook(course, HALF, asks), AGAIN)
    course.grade()
    assert standing(course) == (POINTS, 0)


def test_a_request_does_not_bring_back_answers_that_were_replaced(course: Course, student: Moodle | Exchange) -> None:
    student.hand_in(notebook(course, SOLVED), CAME)
    course.grade()
    student.hand_in(notebook(course, HALF), LATE)
    course.grade()
    student.hand_in(notebook(course, SOLVED, asks), AGAIN)
    course.grade()
    assert standing(course) == (POINTS, POINTS / 2)


@pytest.mark.parametrize("more", ["attempts = 2", 'counts = "best"'])
def test_a_request_is_none_of_the_attempts_that_are_graded(
    course: Course, student: Moodle | Exchange, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state(course, more)
    student.hand_in(notebook(course, HALF), CAME)
    course.grade()
    student.hand_in(notebook(course, HALF, asks), CAME.replace(hour=19))
    course.grade()
    assert "my None is right" in said_by(capsys, "requests", course.folder)
    assert standing(course) == (POINTS, 0)
    student.hand_in(notebook(course, SOLVED), CAME.replace(hour=19, minute=30))
    course.grade()
    assert standing(course) == (TOTAL, 0), "the second attempt is graded"
