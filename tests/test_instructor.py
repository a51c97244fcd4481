"""An instructor's way from what was handed in to feedback, with `autograder grade` in the middle."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from course_folder import Course
from submissions import Submission, read

from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.cli import main
from autograder.grading.course import make_course

(LESSON,) = COURSE.read(["first_gradient"])
NAME = LESSON.file_name
EXERCISES = COURSE.exercises(LESSON)
SOLVED = {name: solutions(exercise)[0] for name, exercise in EXERCISES.items()}
FIRST = next(exercise for exercise in EXERCISES.values() if exercise.asks_for == "function")
WRONG = f"def {FIRST.asks}(*arguments):\n    return None"
TAMPERS = f"{SOLVED[FIRST.name]}\nimport torch\ntorch.equal = lambda *arguments: True"
TOTAL = sum(exercise.points for exercise in EXERCISES.values() if exercise.core)
BY_HELPER = f"""\
from pathlib import Path
from helper import {FIRST.asks}
assert Path("data/numbers.txt").read_text() == "1 2 3"
assert Path("table.csv").read_text() == "ours"
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with both releases of one assignment, which has a data file of its own. Nothing is handed in."""
    folder = tmp_path_factory.mktemp("instructor") / "course"
    make_course(folder, None)
    (folder / "source" / NAME / "table.csv").write_text("ours")
    course = Course(folder, LESSON, [])
    course.nbgrader("generate_assignment", NAME)
    course.nbgrader("generate_assignment", NAME, "--no-db", language="ru")
    return course


def copy_of(course: Course, place: Path) -> Course:
    shutil.copytree(course.folder, place / course.folder.name, symlinks=True)
    return Course(place / course.folder.name, LESSON, [])


@pytest.fixture
def course(released: Course, tmp_path: Path) -> Course:
    """A copy of it for one test."""
    return copy_of(released, tmp_path)


def hand_in(
    course: Course,
    student: str,
    answers: dict[str, str],
    *,
    language: str = "en",
    name: str = NAME,
    beside: dict[str, str] | None = None,
    came: str | None = None,
    folder: Path | None = None,
) -> Path:
    """Put a notebook with `answers` and the files `beside` it into a student's folder of submitted/."""
    folder = folder or course.folder / "submitted" / student / NAME
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(Submission(student, language, answers).notebook(read(course.released(language))), path)
    for where, text in (beside or {}).items():
        (folder / where).parent.mkdir(parents=True, exist_ok=True)
        (folder / where).write_text(text)
    if came:
        (folder / "timestamp.txt").write_text(came)
    return path


def grade(course: Course, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """Run `autograder grade --json`. Returns the results of the assignment by student."""
    capsys.readouterr()
    main(["grade", str(course.folder), NAME, "--json", *arguments])
    out = capsys.readouterr().out
    return {each["student"]: each for each in json.loads(out)[NAME]}


# ---------------------------------------------------------------------------------------- what lies in autograded/


def below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but our record; of a notebook, what does not depend on the moment."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".autograder.json":
            whole = path.read_bytes()
            sources = [cell.source for cell in read(path).cells] if path.suffix == ".ipynb" else None
            found[str(path.relative_to(folder))] = whole if sources is None else repr(sources).encode()
    return found


@pytest.fixture(scope="module")
def through_exchange(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """One student hands in through the exchange, the others in other ways; graded by `autograder grade`."""
    course = copy_of(released, tmp_path_factory.mktemp("exchange"))
    home = course.folder.parent / "home"
    home.mkdir()
    course.exchange.mkdir()
    course.exchange.chmod(0o777)
    course.by_exchange("release_assignment")
    assert NAME in course.nbgrader("list", f"--Exchange.root={course.exchange}", "--course=course", cwd=home)
    course.by_exchange("fetch_assignment", "--course=course", cwd=home)
    helper = {"helper.py": SOLVED[FIRST.name], "data/numbers.txt": "1 2 3"}
    hand_in(course, "ann", {**SOLVED, FIRST.name: BY_HELPER}, beside=helper, folder=home / NAME)
    course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)
    course.by_exchange("collect")
    late = "2026-01-01 10:00:00 UTC"
    hand_in(course, "boris", {**SOLVED, FIRST.name: BY_HELPER}, language="ru", beside=helper, came=late)
    hand_in(course, "carl", SOLVED, beside={"table.csv": "theirs", "a/b/c.txt": "deep", "notes.pyc": "ignored"})
    hand_in(course, "dina", {}, language="ru")
    shutil.copytree(course.folder, course.folder.parent / "stock" / "course")
    assert main(["grade", str(course.folder)]) == 0
    return course


def test_autograded_has_all_that_nbgrader_autograde_leaves(through_exchange: Course) -> None:
    stock = Course(through_exchange.folder.parent / "stock" / "course", LESSON, [])
    stock.nbgrader("autograde", NAME)
    for student in ("ann", "boris", "carl", "dina"):
        ours, theirs = (below(each.folder / "autograded" / student / NAME) for each in (through_exchange, stock))
        assert ours == theirs, student
    assert "submission_secret.txt" in below(stock.folder / "autograded" / "ann" / NAME)
    for each in (through_exchange, stock):  # the files beside the notebook are there when the answer runs
        assert scores(each) == {"ann": TOTAL, "boris": TOTAL, "carl": TOTAL, "dina": 0}


def scores(course: Course) -> dict[str, float]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        return {each.student_id: each.score for each in gradebook.find_assignment(NAME).submissions}


def test_feedback_returns_through_the_exchange(through_exchange: Course) -> None:
    course = through_exchange
    course.nbgrader("generate_feedback", NAME)
    course.by_exchange("release_feedback", "--student=ann")
    home = course.folder.parent / "home"
    course.by_exchange("fetch_feedback", "--course=course", "--student=ann", cwd=home)
    (page,) = (home / NAME / "feedback").rglob("*.html")
    assert page.read_text(encoding="utf-8") == course.feedback("ann")


def test_what_is_not_taken_over_is_named(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"many/{number:03}.txt": "x" for number in range(300)}
    folder = hand_in(course, "ann", SOLVED, beside={**many, "fine.txt": "fine"}).parent
    (folder / "link.txt").symlink_to(course.folder / "secret")
    (folder / "linked").symlink_to(course.folder)
    (folder / "large.bin").write_bytes(bytes(21 << 20))
    os.mkfifo(folder / "pipe")
    result = grade(course, capsys)["ann"]
    assert (result["state"], result["score"]) == ("graded", TOTAL)
    said = "\n".join(result["notes"])
    assert "ignored: link.txt (it is a link)" in said
    assert "ignored: linked (it is a link)" in said
    assert "ignored: pipe (it is no regular file)" in said
    assert "ignored: large.bin (more than 20 MB together)" in said
    assert "more files" in said
    kept = below(course.folder / "autograded" / "ann" / NAME)
    assert kept["fine.txt"] == b"fine"
    assert len(kept) == 200 + 2  # the notebook and the assignment's own file come on top
    assert "link.txt" not in kept
