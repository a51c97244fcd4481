"""The exchange: submissions and feedback through it, beside other submissions."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.cli import main
from autograder.grading.files.nbgrader_files import in_utc
from support.course import Course, files_below
from support.first_gradient import CHECK, FIRST, LESSON, NAME, SOLVED, TOTAL

pytestmark = pytest.mark.long(15)

TABLE = {"table.csv": "ours"}  # a file of the assignment's own
BY_HELPER = f"""\
from pathlib import Path
from helper import {FIRST.asks}
assert Path("data/numbers.txt").read_text() == "1 2 3"
assert Path("table.csv").read_text() == "ours"
"""


@pytest.fixture(scope="module")
def through_exchange(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """One student hands in through the exchange, the others in other ways; graded by `autograder grade`."""
    course = Course.make(tmp_path_factory.mktemp("exchange") / "course", beside=TABLE)
    home = course.folder.parent / "home"
    home.mkdir()
    course.exchange.mkdir()
    course.exchange.chmod(0o777)
    course.by_exchange("release_assignment")
    assert NAME in course.nbgrader("list", f"--Exchange.root={course.exchange}", "--course=course", cwd=home)
    course.by_exchange("fetch_assignment", "--course=course", cwd=home)
    helper = {"helper.py": SOLVED[FIRST.name], "data/numbers.txt": "1 2 3"}
    course.hand_in("ann", {**SOLVED, FIRST.name: BY_HELPER}, beside=helper, folder=home / NAME)
    course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)
    course.by_exchange("collect")
    late = "2026-01-01 10:00:00 UTC"
    course.hand_in("boris", {**SOLVED, FIRST.name: BY_HELPER}, language="ru", beside=helper, came=late)
    course.hand_in("carl", SOLVED, beside={"table.csv": "theirs", "a/b/c.txt": "deep", "notes.pyc": "ignored"})
    course.hand_in("dina", {}, language="ru")
    # A record of ours among the files that are handed in is none.
    forged = course.folder / "submitted" / "dina" / NAME / ".autograder.json"
    forged.write_text(json.dumps({"submitted": "x", "renamed": {f"../../ann/{NAME}/{NAME}": "stolen.ipynb"}}))
    course.copy(course.folder.parent / "stock")
    assert main(["grade", str(course.folder)]) == 0
    return course


@pytest.mark.nightly(twin="tests/grading/plugin/test_nbgrader_commands.py::test_every_score_is_what_the_verdicts_say")
def test_autograded_has_all_that_nbgrader_autograde_leaves(through_exchange: Course) -> None:
    stock = Course(through_exchange.folder.parent / "stock" / "course", LESSON)
    stock.nbgrader("autograde", NAME)
    for student in ("ann", "boris", "carl", "dina"):
        ours, theirs = (files_below(each.folder / "autograded" / student / NAME) for each in (through_exchange, stock))
        assert ours == theirs, student
    assert not list((stock.folder / "autograded").rglob(".autograder.json"))
    assert "submission_secret.txt" in files_below(stock.folder / "autograded" / "ann" / NAME)
    for each in (through_exchange, stock):  # the files beside the notebook are there when the answer runs
        assert each.scores() == {"ann": TOTAL, "boris": TOTAL, "carl": TOTAL, "dina": 0}


def test_feedback_returns_through_the_exchange(through_exchange: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course, home = through_exchange, through_exchange.folder.parent / "home"

    def fetched() -> str:
        course.by_exchange("fetch_feedback", "--course=course", "--student=ann", cwd=home)
        (page,) = (home / NAME / "feedback").rglob("*.html")
        return page.read_text(encoding="utf-8")

    course.nbgrader("generate_feedback", NAME)
    course.by_exchange("release_feedback", "--student=ann")
    assert fetched() == course.feedback("ann")

    # Points by hand make the page stale. nbgrader keeps the old one, our command makes it anew and releases it.
    course.give_by_hand("ann", CHECK, 1.5)
    course.nbgrader("generate_feedback", NAME)
    assert "see me" not in course.feedback("ann")
    course.configure(f"c.Exchange.root = {str(course.exchange)!r}")
    capsys.readouterr()
    assert main(["feedback", str(course.folder), NAME, "--release"]) == 0
    said = capsys.readouterr().out
    assert f"{NAME}: 4 pages made, 0 up to date" in said
    assert "not released, as they did not come through the exchange: boris, carl, dina" in said
    assert "released to the exchange (en, ru): 1 student\n" in said
    assert said.count("1 student\n") == 1  # once, in however many exchanges
    assert "see me" in course.feedback("ann")
    assert fetched() == course.feedback("ann")
    assert not list(course.folder.rglob("stolen.html"))

    # Who hands in a renamed notebook asks for a page of that name.
    os.rename(home / NAME / f"{NAME}.ipynb", home / NAME / "mine.ipynb")
    course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)
    course.by_exchange("collect", "--update")
    assert main(["grade", str(course.folder)]) == 0
    assert main(["feedback", str(course.folder), NAME, "--release"]) == 0
    course.by_exchange("fetch_feedback", "--course=course", "--student=ann", cwd=home)
    (page,) = (home / NAME / "feedback").rglob("mine.html")
    assert page.read_text(encoding="utf-8") == course.feedback("ann")
    (kept,) = (course.folder / "feedback" / "ann").rglob("*.html")
    assert kept.name == f"{NAME}.html"


def test_what_is_not_taken_over_is_named(tmp_path: Path) -> None:
    course = Course.make(tmp_path / "course", languages=("en",), beside=TABLE)
    many = {f"many/{number:03}.txt": "x" for number in range(300)}
    folder = course.hand_in("ann", SOLVED, beside={**many, "fine.txt": "fine"}).parent
    (folder / "link.txt").symlink_to(course.folder / "secret")
    (folder / "linked").symlink_to(course.folder)
    (folder / "large.bin").write_bytes(bytes(21 << 20))
    os.mkfifo(folder / "pipe")
    result = course.grade()["ann"]
    assert (result["state"], result["score"]) == ("graded", TOTAL)
    said = "\n".join(result["notes"])
    assert "ignored: link.txt (it is a link)" in said
    assert "ignored: linked (it is a link)" in said
    assert "ignored: pipe (it is no regular file)" in said
    assert "ignored: large.bin (more than 20 MB together)" in said
    assert "more files" in said
    kept = files_below(course.folder / "autograded" / "ann" / NAME)
    assert kept["fine.txt"] == b"fine"
    assert len(kept) == 200 + 2  # the notebook and the assignment's own file come on top
    assert "link.txt" not in kept


def test_a_request_through_the_exchange_costs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course, home = Course.make(tmp_path / "course", languages=("en",)), tmp_path / "home"
    home.mkdir()
    course.exchange.mkdir()
    course.exchange.chmod(0o777)
    course.configure(f"c.Exchange.root = {str(course.exchange)!r}")
    course.by_exchange("release_assignment")
    course.by_exchange("fetch_assignment", "--course=course", cwd=home)
    course.hand_in("ann", {**SOLVED, FIRST.name: "pass"}, folder=home / NAME)
    course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)
    course.by_exchange("collect")
    due = datetime.now(UTC) + timedelta(seconds=2)
    (course.folder / "course.toml").write_text(f"[assignments.{NAME}]\ndue = {due:%Y-%m-%dT%H:%M:%S}\n")
    assert main(["grade", str(course.folder)]) == 0
    scores, stamp = course.scores(), course.submitted("ann").parent / "timestamp.txt"
    assert (scores, course.owed()) == ({"ann": TOTAL - FIRST.points}, {"ann": 0})
    came = in_utc(stamp.read_text())

    (home / NAME / "regrade.txt").write_text("why?")
    time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds() + 1))
    course.by_exchange("submit", "--course=course", "--student=ann", cwd=home)
    for _ in range(2):  # nbgrader brings the request each time
        course.by_exchange("collect", "--update")
        capsys.readouterr()
        assert main(["grade", str(course.folder)]) == 0
        assert "ann: asks to look again with the same answers: counts as handed in " in capsys.readouterr().out
        assert (course.scores(), course.owed(), in_utc(stamp.read_text())) == (scores, {"ann": 0}, came)
    assert main(["requests", str(course.folder), NAME, "--student", "ann", "--answer", "Because."]) == 0
    assert main(["feedback", str(course.folder), NAME, "--release"]) == 0
    course.by_exchange("fetch_feedback", "--course=course", "--student=ann", cwd=home)
    (page,) = (home / NAME / "feedback").rglob(f"{NAME}.html")
    assert "Because." in page.read_text(encoding="utf-8")
