"""Flags and their reasons, in the terminal, the report, formgrader and nbgrader autograde."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from autograder.cli import main
from support.course import BIN, Course
from support.first_gradient import FIRST, LESSON, NAME, REPLACED, SOLVED, TOTAL

pytestmark = pytest.mark.long(20)


def test_flags_are_shown_again_and_in_the_report(flagged: Course, capsys: pytest.CaptureFixture[str]) -> None:
    results = flagged.grade()
    assert {name: each["state"] for name, each in results.items()} == {
        "ann": "unchanged",
        "boris": "unchanged",
        "carl": "unchanged",
        "dina": "failed",
    }
    assert results["ann"]["reasons"] == []
    assert REPLACED in results["boris"]["reasons"]
    assert any("there more than once" in reason for reason in results["carl"]["reasons"])
    assert (results["ann"]["score"], results["boris"]["score"]) == (TOTAL, 0)
    assert main(["grade", str(flagged.folder)]) == 1
    assert REPLACED in capsys.readouterr().out
    assert flagged.shown_flags() == {"ann": False, "boris": True, "carl": True}
    assert main(["report", str(flagged.folder)]) == 0
    page = (flagged.folder / "report" / f"{NAME}.html").read_text(encoding="utf-8")
    for reason in (reason for each in results.values() for reason in each["reasons"]):
        assert reason.replace("'", "&#39;").replace('"', "&#34;") in page, reason


NIGHTLY = pytest.mark.nightly(twin="tests/grading/test_flags.py::test_a_closed_pipe_ends_the_command_quietly")


@pytest.mark.parametrize("command", ["grade", pytest.param("report", marks=NIGHTLY)])
def test_a_closed_pipe_ends_the_command_quietly(command: str, flagged: Course) -> None:
    """As in `autograder grade COURSE | head`, when head has ended."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:
        run = [BIN / "autograder", command, flagged.folder]
        done = subprocess.run(run, stdout=nobody, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_flag_goes_with_its_reason_and_a_persons_flag_stays(flagged: Course, tmp_path: Path) -> None:
    course = flagged.copy(tmp_path)
    course.hand_in("boris", SOLVED)
    course.set_flag("ann", True)
    results = course.grade("--force", "--student", "ann", "--student", "boris")
    assert {name: each["state"] for name, each in results.items()} == {"ann": "graded", "boris": "graded"}
    assert course.shown_flags() == {"ann": True, "boris": False, "carl": True}
    course.set_flag("carl", False)  # a person has looked
    assert course.grade()["carl"]["reasons"] == []


def test_nbgrader_autograde_flags_the_same(flagged: Course, tmp_path: Path) -> None:
    stock = Course(flagged.folder.parent / "stock" / "course", LESSON)
    stock = stock.copy(tmp_path)
    shutil.rmtree(stock.folder / "submitted" / "dina")
    stock.nbgrader("autograde", NAME)
    assert stock.shown_flags() == {"ann": False, "boris": True, "carl": True}
    for each in (stock, flagged):
        assert main(["report", str(each.folder)]) == 0
    pages = [(each.folder / "report" / f"{NAME}.html").read_text(encoding="utf-8") for each in (stock, flagged)]
    for reason in (REPLACED, "there more than once"):
        assert all(reason in page for page in pages)
    stock.hand_in("boris", SOLVED)
    stock.nbgrader("autograde", NAME, "--force", "--student=boris")
    assert stock.shown_flags()["boris"] is False


def test_an_unknown_student_is_named(flagged: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(flagged.folder), "--student", "an"]) == 1
    assert "an has handed in nothing" in (said := capsys.readouterr().err)
    assert "ann" in said


def test_what_was_refused_is_a_note(course: Course) -> None:
    reaches = f"{SOLVED[FIRST.name]}\nimport gc\nlen(gc.get_objects())"
    course.hand_in("ann", {**SOLVED, FIRST.name: reaches})
    result = course.grade()["ann"]
    assert result["reasons"] == []
    assert [note for note in result["notes"] if note.startswith("refused: ")]


def test_conspicuous_code_is_shown_to_a_person_and_costs_nothing(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    """In `grade`, formgrader's notebook and flag, and the report; never on a page for students."""
    odd = f"{SOLVED[FIRST.name]}\n\nimport random\nrandom.shuffle = len"
    line, place = odd.count("\n") + 1, f"answer-{FIRST.name}, line {{}}: changes a library: random.shuffle"
    place = place.format(line)
    course.hand_in("ann", {**SOLVED, FIRST.name: odd})
    course.hand_in("boris", SOLVED)
    results = course.grade()
    assert (results["ann"]["state"], results["ann"]["score"]) == ("graded", TOTAL)
    assert (results["ann"]["reasons"], results["ann"]["places"]) == ([], [place])
    assert results["boris"]["places"] == []
    assert course.shown_flags() == {"ann": True, "boris": False}
    assert main(["grade", str(course.folder)]) == 0
    assert f"to look at: {place}" in capsys.readouterr().out
    assert place in course.autograded("ann").read_text(encoding="utf-8")
    assert main(["feedback", str(course.folder)]) == 0
    assert place not in course.feedback("ann")
    assert main(["report", str(course.folder)]) == 0
    assert place in (course.folder / "report" / f"{NAME}.html").read_text(encoding="utf-8")
    course.set_flag("ann", False)  # a person has looked
    assert course.grade()["ann"]["places"] == []
