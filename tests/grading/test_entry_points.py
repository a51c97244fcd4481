"""The same submissions through three doors: `autograder grade`, `nbgrader autograde`, formgrader in Chromium."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import expect

from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.cli import main
from autograder.grading.course.create import make_course
from support.browser import browser_page
from support.course import Course
from support.submissions import Submission, read

(LESSON,) = COURSE.read(["first_gradient"])
EXERCISES = COURSE.exercises(LESSON)
SOLVED = {name: solutions(exercise)[0] for name, exercise in EXERCISES.items()}
FIRST = next(exercise for exercise in EXERCISES.values() if exercise.asks_for == "function")
WRONG = f"def {FIRST.asks}(*arguments):\n    return None"
TAMPERS = f"{SOLVED[FIRST.name]}\nimport torch\ntorch.equal = lambda *arguments: True"
SUBMISSIONS = [
    Submission("ann", "en", SOLVED),
    Submission("boris", "ru", SOLVED),
    Submission("carl", "en", {**SOLVED, FIRST.name: WRONG}),
    Submission("dina", "ru", {**SOLVED, FIRST.name: TAMPERS}),
    Submission("eve", "ru", {}),
]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Course]:
    """Three copies of one course with everything handed in and nothing graded."""
    parent = tmp_path_factory.mktemp("doors")
    make_course(parent / "first" / "course", None)
    course = Course(parent / "first" / "course", LESSON, SUBMISSIONS)
    course.nbgrader("generate_assignment", course.name)
    course.nbgrader("generate_assignment", course.name, "--no-db", language="ru")
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        gradebook.find_assignment(course.name).duedate = datetime(2026, 1, 1)
        gradebook.db.commit()
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    for submission in SUBMISSIONS:
        path = course.folder / "submitted" / submission.student / course.name / f"{course.name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(submission.notebook(read(course.released(submission.language))), path)
        came = "2026-01-01 02:00:00 UTC" if submission.student == "boris" else "2025-12-31 02:00:00 UTC"
        path.with_name("timestamp.txt").write_text(came)
    made = {"grade": course}
    for name in ("autograde", "formgrader"):
        shutil.copytree(course.folder, parent / name / "course")
        made[name] = Course(parent / name / "course", LESSON, SUBMISSIONS)
    return made


def grades(course: Course) -> dict[tuple[str, str], object]:
    """Everything that grading writes, by student and cell."""
    found: dict[tuple[str, str], object] = {}
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        for submitted in gradebook.find_assignment(course.name).submissions:
            found[submitted.student_id, "late"] = [submitted.total_seconds_late, submitted.score]
            for notebook in submitted.notebooks:
                found[submitted.student_id, "penalty"] = notebook.late_submission_penalty
                for grade in notebook.grades:
                    found[submitted.student_id, grade.name] = (grade.auto_score, grade.needs_manual_grade)
                for comment in notebook.comments:
                    found[submitted.student_id, f"comment {comment.name}"] = comment.auto_comment
    return found


@contextmanager
def jupyter_server(folder: Path) -> Iterator[str]:
    """A Jupyter server in a course folder, as an instructor starts it for formgrader; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nobody = folder.parent / "nobody"
    environment = {**os.environ, "HOME": str(nobody), "JUPYTER_CONFIG_DIR": str(nobody / "config")}
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "server",
        "--no-browser",
        f"--port={port}",
        "--IdentityProvider.token=t",
    ]
    command += ["--allow-root", "--ServerApp.ip=127.0.0.1"]
    nobody.mkdir()
    with (folder.parent / "jupyter.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def test_all_doors_give_the_same_grades(doors: dict[str, Course], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(doors["grade"].folder)]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"dina: flagged .*\n\s+{FIRST.name}: replaced or left on: torch.equal", said)
    by_grade = grades(doors["grade"])
    total = sum(exercise.points for exercise in EXERCISES.values() if exercise.core)

    def score(student: str) -> float:
        return sum(value[0] or 0 for (who, _), value in by_grade.items() if who == student and isinstance(value, tuple))

    assert score("ann") == score("boris") == total
    assert score("eve") == 0
    assert score("carl") == total - FIRST.points
    assert by_grade["dina", f"check-{FIRST.name}"] == (0, True)
    assert (by_grade["ann", "late"], by_grade["ann", "penalty"]) == ([0, total], None)
    assert (by_grade["boris", "late"], by_grade["boris", "penalty"]) == ([2 * 3600, total], total)

    log = doors["autograde"].nbgrader("autograde", LESSON.file_name)
    assert f"dina, {LESSON.file_name}: a person has to look: {FIRST.name}: replaced or left on: torch.equal" in log
    assert grades(doors["autograde"]) == by_grade

    with jupyter_server(doors["formgrader"].folder) as address, browser_page() as page:
        _visit(page, f"{address}/login?token=t")  # the token becomes a cookie
        page.goto(f"{address}/formgrader/manage_submissions/{LESSON.file_name}")
        for submission in SUBMISSIONS:
            row = page.locator("tr", has=page.get_by_text(submission.student, exact=True))
            row.locator(".autograde a").click()
            expect(page.get_by_text("Successfully autograded")).to_be_visible()
            page.locator(".modal-footer button", has_text="OK").click()
            expect(page.locator(".modal.in")).to_have_count(0)
    assert grades(doors["formgrader"]) == by_grade


def _visit(page, address: str) -> None:
    """The server takes a moment to listen."""
    for _ in range(120):
        try:
            page.goto(address)
            return
        except Exception:
            page.wait_for_timeout(500)
    raise AssertionError(f"no answer from {address}")
