"""The same submissions graded in three ways: `autograder grade`, `nbgrader autograde`, formgrader in Chromium."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from autograder.cli import main
from support.browser import browser_page
from support.course import Course
from support.first_gradient import FIRST, NAME, SOLVED, TAMPERS, TOTAL, WRONG
from support.submissions import Submission

pytestmark = pytest.mark.long(20)

SUBMISSIONS = [
    Submission("ann", "en", SOLVED),
    Submission("boris", "ru", SOLVED),
    Submission("carl", "en", {**SOLVED, FIRST.name: WRONG}),
    Submission("dina", "ru", {**SOLVED, FIRST.name: TAMPERS}),
    Submission("eve", "ru", {}),
]
CLICKED = ("boris", "dina")  # late and flagged; formgrader starts a grader for each, which takes 4 s


@pytest.fixture(scope="module")
def courses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Course]:
    """Three copies of one course with everything handed in and nothing graded."""
    parent = tmp_path_factory.mktemp("entry")
    course = Course.make(parent / "grade" / "course")
    course.set_due(datetime(2026, 1, 1))
    course.configure('c.LateSubmissionPlugin.penalty_method = "zero"')
    for each in SUBMISSIONS:
        came = "2026-01-01 02:00:00 UTC" if each.student == "boris" else "2025-12-31 02:00:00 UTC"
        course.hand_in(each.student, each.answers, language=each.language, came=came)
    made = {"grade": course}
    for name in ("autograde", "formgrader"):
        made[name] = course.copy(parent / name)
    return made


def grades(course: Course) -> dict[tuple[str, str], object]:
    """Everything that grading writes, by student and cell."""
    found: dict[tuple[str, str], object] = {}
    with course.gradebook() as gradebook:
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


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say")
def test_all_entry_points_give_the_same_grades(courses: dict[str, Course], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(courses["grade"].folder)]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"dina: flagged .*\n\s+{FIRST.name}: replaced or left on: math.isclose", said)
    by_grade = grades(courses["grade"])

    def score(student: str) -> float:
        return sum(value[0] or 0 for (who, _), value in by_grade.items() if who == student and isinstance(value, tuple))

    assert score("ann") == score("boris") == TOTAL
    assert score("eve") == 0
    assert score("carl") == TOTAL - FIRST.points
    assert by_grade["dina", f"check-{FIRST.name}"] == (0, True)
    assert (by_grade["ann", "late"], by_grade["ann", "penalty"]) == ([0, TOTAL], None)
    assert (by_grade["boris", "late"], by_grade["boris", "penalty"]) == ([2 * 3600, TOTAL], TOTAL)

    log = courses["autograde"].nbgrader("autograde", NAME)
    assert f"dina, {NAME}: a person has to look: {FIRST.name}: replaced or left on: math.isclose" in log
    assert grades(courses["autograde"]) == by_grade

    with jupyter_server(courses["formgrader"].folder) as address, browser_page() as page:
        _visit(page, f"{address}/login?token=t")  # the token becomes a cookie
        page.goto(f"{address}/formgrader/manage_submissions/{NAME}")
        for student in CLICKED:
            row = page.locator("tr", has=page.get_by_text(student, exact=True))
            row.locator(".autograde a").click()
            expect(page.get_by_text("Successfully autograded")).to_be_visible()
            page.locator(".modal-footer button", has_text="OK").click()
            expect(page.locator(".modal.in")).to_have_count(0)
    clicked = {key: value for key, value in by_grade.items() if key[0] in CLICKED}
    assert grades(courses["formgrader"]) == clicked


def _visit(page, address: str) -> None:
    """The server takes a moment to listen."""
    for _ in range(120):
        try:
            page.goto(address)
            return
        except Exception:
            page.wait_for_timeout(500)
    raise AssertionError(f"no answer from {address}")
