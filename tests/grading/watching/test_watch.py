"""`autograder watch`: what arrives is graded, and feedback is given at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.cli import main
from autograder.grading.batch.batch import core_threads
from autograder.grading.course.course import open_course
from autograder.grading.watching.watch import Watch
from support.course import Course
from support.first_gradient import FIRST, NAME, SOLVED, TOTAL
from support.lms import collect
from support.watching import Watching

pytestmark = pytest.mark.long(15)

Work = Callable[..., str]  # see the fixture `work`

ANNA = "Анна Ёлкина"
LIMITED = f"""
[assignments.{NAME}]
due = 2026-01-01T00:00:00
late = [{{until = "9999d", credit = 50}}]
attempts = 2
counts = "best"
"""


def deliver(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def page(course: Course, student: str) -> str:
    return (course.folder / "feedback" / student / NAME / f"{NAME}.html").read_text(encoding="utf-8")


def test_what_arrives_in_a_folder_is_graded_at_once(course: Course, work: Work, tmp_path: Path) -> None:
    inbox = tmp_path / "in box, ящик"
    inbox.mkdir()
    course.hand_in("early", SOLVED)  # collected by a run that was killed before it graded
    (course.folder / "course.toml").write_text('time_zone = "Asia/Kathmandu"', encoding="utf-8")
    with Watching(course.folder, inbox, "--isolation=none") as watch:
        line = watch.wait_for(f"{NAME}, early: graded, {TOTAL:g} points")
        now = datetime.now(ZoneInfo("Asia/Kathmandu")).replace(tzinfo=None)
        assert (now - datetime.strptime(line[:8], "%H:%M:%S")).seconds < 7200  # UTC is further away
        deliver(inbox / ANNA / "ДЗ.ipynb", work("anna"))
        deliver(inbox / "notes.txt", "nobody's")
        watch.wait_for(f"{NAME}, {ANNA}: graded, {TOTAL:g} points")
        watch.wait_for("no place: notes.txt")
        assert watch.interrupt() == 130
        assert "the same command goes on from there" in watch.said
    assert course.scores() == {"early": TOTAL, ANNA: TOTAL}
    assert page(course, ANNA)
    with Watching(course.folder, inbox, "--isolation=none") as watch:
        watch.wait_for(f"{ANNA}: {NAME} already collected")
        watch.wait_for("no place")
        assert "graded," not in watch.said


def test_a_locked_gradebook_is_tried_again(course: Course, work: Work, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    deliver(inbox / "ann" / "a.ipynb", work())
    with Watching(course.folder, inbox, "--isolation=none") as watch:
        with sqlite3.connect(course.folder / "gradebook.db", isolation_level=None) as other:
            other.execute("begin exclusive")
            watch.wait_for(f"tried again|{NAME}, ann: failed")
        other.close()
        watch.wait_for(f"{NAME}, ann: graded, {TOTAL:g} points")


def test_attempts_through_the_exchange(course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of four attempts are graded, the better one counts, and each gets its answer."""
    (course.folder / "course.toml").write_text(LIMITED, encoding="utf-8")
    course.exchange.mkdir()
    course.exchange.chmod(0o777)
    course.configure(f"c.Exchange.root = {str(course.exchange)!r}")
    course.by_exchange("release_assignment")
    home = tmp_path / "home"
    home.mkdir()
    course.by_exchange("fetch_assignment", "--course=course", cwd=home)

    def submit(answers: dict[str, str]) -> None:
        course.hand_in("ann", answers, folder=home / NAME)
        course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)

    def fetched() -> dict[str, str]:
        """Pages by the time of submission."""
        course.by_exchange("fetch_feedback", "--course=course", "--student=ann", cwd=home)
        pages = (home / NAME / "feedback").rglob("*.html")
        return {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(pages)}

    assert main(["course", str(course.folder), "--apply"]) == 0
    with Watching(course.folder, "--isolation=none") as watch:
        submit(SOLVED)
        watch.wait_for(f"ann: {NAME} taken, ")
        watch.wait_for(f"{NAME}, ann: graded, {TOTAL:g} points")
        submit({**SOLVED, FIRST.name: f"{FIRST.asks} = 1"})
        watch.wait_for("taken as attempt 2")
        watch.wait_for(rf"{NAME}, ann: graded, (?!{TOTAL:g} )")
        submit({})
        watch.wait_for("kept, but not to be graded: only 2 attempts may be")
        watch.wait_for("ann: receipt for attempt 3")
        watch.interrupt()
    submit({**SOLVED, FIRST.name: f"{FIRST.asks} = 4"})
    assert collect(course, course.exchange / "course" / "inbound") == 0
    settings = open_course(course.folder)
    for _ in range(2):  # as after a run that was killed between collecting and the receipt
        with core_threads(1) as executor:
            Watch(settings, executor, "none", 1, adds=False).answer_refused()
    assert course.scores() == {"ann": TOTAL}
    assert course.owed() == {"ann": TOTAL / 2}
    first, second, third, fourth = fetched().values()
    assert "It is attempt 4." in fourth
    assert capsys.readouterr().out.count("receipt for attempt 4") == 1
    assert "It is attempt 3. Attempts after number 2 are not graded" in third
    assert f"{TOTAL:g}" in first
    assert second != first
