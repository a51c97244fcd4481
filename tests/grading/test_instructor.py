"""An instructor's way from what was handed in to feedback, with `autograder grade` in the middle."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.cli import main
from autograder.grading.course.create import make_course
from support.course import BIN, Course
from support.submissions import Submission, read

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
    # A record of ours among the files that are handed in is none.
    forged = course.folder / "submitted" / "dina" / NAME / ".autograder.json"
    forged.write_text(json.dumps({"submitted": "x", "renamed": {f"../../ann/{NAME}/{NAME}": "stolen.ipynb"}}))
    shutil.copytree(course.folder, course.folder.parent / "stock" / "course")
    assert main(["grade", str(course.folder)]) == 0
    return course


def test_autograded_has_all_that_nbgrader_autograde_leaves(through_exchange: Course) -> None:
    stock = Course(through_exchange.folder.parent / "stock" / "course", LESSON, [])
    stock.nbgrader("autograde", NAME)
    for student in ("ann", "boris", "carl", "dina"):
        ours, theirs = (below(each.folder / "autograded" / student / NAME) for each in (through_exchange, stock))
        assert ours == theirs, student
    assert not list((stock.folder / "autograded").rglob(".autograder.json"))
    assert "submission_secret.txt" in below(stock.folder / "autograded" / "ann" / NAME)
    for each in (through_exchange, stock):  # the files beside the notebook are there when the answer runs
        assert scores(each) == {"ann": TOTAL, "boris": TOTAL, "carl": TOTAL, "dina": 0}


def scores(course: Course) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        return {each.student_id: each.score for each in gradebook.find_assignment(NAME).submissions}


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
    give_by_hand(course, "ann", NAME, f"check-{FIRST.name}", 1.5)
    course.nbgrader("generate_feedback", NAME)
    assert "see me" not in course.feedback("ann")
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write(f"c.Exchange.root = {str(course.exchange)!r}\n")
    capsys.readouterr()
    assert main(["feedback", str(course.folder), NAME, "--release"]) == 0
    said = capsys.readouterr().out
    assert f"{NAME}: 4 pages made, 0 up to date" in said
    assert "not released, as they did not come through the exchange: boris, carl, dina" in said
    assert "released to the exchange (en, ru): 1 students" in said
    assert said.count("1 students") == 1  # once, in however many exchanges
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


def test_only_stale_pages_are_made(flagged: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = copy_of(flagged, tmp_path)
    pages = {name: course.folder / "feedback" / name / NAME / f"{NAME}.html" for name in ("ann", "boris", "carl")}

    def made() -> set[str]:
        before = {name: page.stat().st_mtime_ns if page.exists() else 0 for name, page in pages.items()}
        assert main(["feedback", str(course.folder)]) == 0
        return {name for name, page in pages.items() if page.stat().st_mtime_ns != before[name]}

    assert made() == {"ann", "boris", "carl"}
    assert made() == set()
    give_by_hand(course, "boris", NAME, f"check-{FIRST.name}", 2)
    assert made() == {"boris"}
    hand_in(course, "carl", {})
    grade(course, capsys)
    assert made() == {"carl"}
    with opened(course) as gradebook:
        gradebook.find_submission_notebook(NAME, NAME, "ann").late_submission_penalty = 3
    assert made() == {"ann"}
    pages["ann"].unlink()
    assert made() == {"ann"}
    shutil.rmtree(course.folder / "autograded")
    assert main(["feedback", str(course.folder)]) == 1
    assert "grade it first" in capsys.readouterr().err


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


# ------------------------------------------------------------------------------------------------- flags that last


@pytest.fixture(scope="module")
def flagged(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """One honest submission, one that tampers, one with a doubled cell, and one that is no notebook; all graded."""
    course = copy_of(released, tmp_path_factory.mktemp("flagged"))
    hand_in(course, "ann", SOLVED)
    hand_in(course, "boris", {**SOLVED, FIRST.name: TAMPERS}, language="ru")
    path = hand_in(course, "carl", SOLVED)
    notebook = read(path)
    doubled = next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade"))
    notebook.cells.append(nbformat.from_dict({**doubled, "id": "doubled", "source": "100"}))
    nbformat.write(notebook, path)
    hand_in(course, "dina", {}).write_text("{")
    shutil.copytree(course.folder, course.folder.parent / "stock" / "course")
    main(["grade", str(course.folder)])
    return course


REPLACED = f"{FIRST.name}: replaced or left on: torch.equal"


def shown_flags(course: Course) -> dict[str, bool]:
    """What formgrader's column shows, as its server answers it."""
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        rows = gradebook.notebook_submission_dicts(NAME, NAME)
        return {row["student"]: row["flagged"] for row in rows}


def test_flags_are_shown_again_and_in_the_report(flagged: Course, capsys: pytest.CaptureFixture[str]) -> None:
    results = grade(flagged, capsys)
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
    assert shown_flags(flagged) == {"ann": False, "boris": True, "carl": True}
    assert main(["report", str(flagged.folder)]) == 0
    page = (flagged.folder / "report" / f"{NAME}.html").read_text(encoding="utf-8")
    for reason in (reason for each in results.values() for reason in each["reasons"]):
        assert reason.replace("'", "&#39;").replace('"', "&#34;") in page, reason


@pytest.mark.parametrize("command", ["grade", "report"])
def test_nobody_reads_the_output(command: str, flagged: Course) -> None:
    """As in `autograder grade COURSE | head`, when head has ended."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:
        run = [BIN / "autograder", command, flagged.folder]
        done = subprocess.run(run, stdout=nobody, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_flag_goes_with_its_reason_and_a_persons_flag_stays(
    flagged: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = copy_of(flagged, tmp_path)
    hand_in(course, "boris", SOLVED)
    set_flag(course, "ann", True)
    results = grade(course, capsys, "--force", "--student", "ann", "--student", "boris")
    assert {name: each["state"] for name, each in results.items()} == {"ann": "graded", "boris": "graded"}
    assert shown_flags(course) == {"ann": True, "boris": False, "carl": True}
    set_flag(course, "carl", False)  # a person has looked
    assert grade(course, capsys)["carl"]["reasons"] == []


def set_flag(course: Course, student: str, flag: bool) -> None:
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        gradebook.find_submission_notebook(NAME, NAME, student).flagged = flag
        gradebook.db.commit()


def test_nbgrader_autograde_flags_the_same(flagged: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stock = Course(flagged.folder.parent / "stock" / "course", LESSON, [])
    stock = copy_of(stock, tmp_path)
    shutil.rmtree(stock.folder / "submitted" / "dina")
    stock.nbgrader("autograde", NAME)
    assert shown_flags(stock) == {"ann": False, "boris": True, "carl": True}
    for each in (stock, flagged):
        assert main(["report", str(each.folder)]) == 0
    pages = [(each.folder / "report" / f"{NAME}.html").read_text(encoding="utf-8") for each in (stock, flagged)]
    for reason in (REPLACED, "there more than once"):
        assert all(reason in page for page in pages)
    hand_in(stock, "boris", SOLVED)
    stock.nbgrader("autograde", NAME, "--force", "--student=boris")
    assert shown_flags(stock)["boris"] is False


def test_an_unknown_student_is_named(flagged: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(flagged.folder), "--student", "an"]) == 1
    assert "an has handed in nothing" in (said := capsys.readouterr().err)
    assert "ann" in said


# ------------------------------------------------------------------------- an assignment that the gradebook has lost


def test_a_lost_gradebook_is_filled_again(course: Course) -> None:
    """This is also where a teacher gets who has only made the Russian release, with --no-db."""
    hand_in(course, "ann", SOLVED)
    (course.folder / "gradebook.db").unlink()
    before = below(course.folder / "release")
    for name in (f"{NAME}/", f"source/{NAME}/"):  # as a shell completes it
        assert main(["grade", str(course.folder), name]) == 0
    assert scores(course) == {"ann": TOTAL}
    assert below(course.folder / "release") == before


def test_one_assignment_that_cannot_be_graded_does_not_stop_the_others(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(course, "ann", SOLVED)
    other = "01_leaf_tensors"
    (course.folder / "submitted" / "ann" / other).mkdir()
    shutil.copy(course.folder / "source" / other / f"{other}.ipynb", course.folder / "submitted" / "ann" / other)
    shutil.rmtree(course.folder / "source" / other)
    assert main(["grade", str(course.folder)]) == 1
    said = capsys.readouterr().err
    assert f"{other} was not graded" in said
    assert scores(course) == {"ann": TOTAL}

    remedy = re.search(r"`autograder (course [^`]+)`", said)
    assert remedy
    assert main(shlex.split(remedy[1])) == 0
    assert main(["grade", str(course.folder)]) == 0


def test_the_command_that_is_said_of_a_broken_source_tells_why(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(course, "ann", SOLVED)
    (course.folder / "gradebook.db").unlink()
    source = course.folder / "source" / NAME / f"{NAME}.ipynb"
    source.write_text(source.read_text(encoding="utf-8").replace('"points": 4', '"points": "many"'), encoding="utf-8")
    assert main(["grade", str(course.folder)]) == 1
    remedy = re.search(r"`nbgrader ([^`]+)`", capsys.readouterr().err)
    assert remedy
    with pytest.raises(AssertionError, match="many"):
        course.nbgrader(*shlex.split(remedy[1]))


# --------------------------------------------------------------------------------- notebooks under another name


@pytest.fixture(scope="module")
def renamed(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions whose notebook is called otherwise, alone and beside the one that was handed out."""
    course = copy_of(released, tmp_path_factory.mktemp("renamed"))
    hand_in(course, "alone", SOLVED, name=f"{NAME} (1)")
    hand_in(course, "deeper", SOLVED, name=f"folder/{NAME}")
    hand_in(course, "beside", {}, language="ru")
    hand_in(course, "beside", SOLVED, language="ru", name="Первый градиент Петров")
    hand_in(course, "twice", {FIRST.name: WRONG})
    hand_in(course, "twice", SOLVED, name="new")
    hand_in(course, "copied", SOLVED)
    hand_in(course, "copied", SOLVED, name="copy")
    other = course.folder / "submitted" / "other" / NAME / "another lesson.ipynb"
    other.parent.mkdir(parents=True)
    shutil.copy(course.folder / "source" / "01_leaf_tensors" / "01_leaf_tensors.ipynb", other)
    return course


def test_a_renamed_notebook_is_graded(renamed: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = copy_of(renamed, tmp_path)
    results = grade(course, capsys)
    found = {name: (each["state"], each["score"]) for name, each in results.items()}
    assert found == {
        "alone": ("graded", TOTAL),
        "deeper": ("graded", TOTAL),
        "beside": ("graded", TOTAL),
        "twice": ("flagged", 0),
        "copied": ("graded", TOTAL),
        "other": ("failed", None),
    }
    assert results["alone"]["notes"] == [f"graded: {NAME} (1).ipynb"]
    assert results["beside"]["notes"][0] == f"graded: Первый градиент Петров.ipynb, as {NAME}.ipynb has no answers"
    assert results["copied"]["notes"] == ["not graded: copy.ipynb (the same answers)"]
    assert results["twice"]["reasons"] == [
        f"more than one notebook with answers: {NAME}.ipynb was graded, not new.ipynb"
    ]
    (why,) = results["other"]["reasons"]
    assert "another lesson.ipynb (it has none of this assignment's cells)" in why
    for student in ("alone", "deeper", "beside"):
        there = sorted(below(course.folder / "autograded" / student / NAME))
        assert there == [f"{NAME}.ipynb", "table.csv"]
    assert {each["state"] for name, each in grade(course, capsys).items() if name != "other"} == {"unchanged"}


def test_nbgrader_autograde_takes_the_notebook_with_answers(renamed: Course, tmp_path: Path) -> None:
    course = copy_of(renamed, tmp_path)
    for student in ("alone", "deeper", "other"):  # nbgrader itself wants one with the released name
        shutil.rmtree(course.folder / "submitted" / student)
    log = course.nbgrader("autograde", NAME)
    assert {name: score == TOTAL for name, score in scores(course).items()} == {
        "beside": True,
        "copied": True,
        "twice": False,
    }
    assert f"beside, {NAME}: graded: Первый градиент Петров.ipynb, as {NAME}.ipynb has no answers" in log
    assert "a person has to look: more than one notebook with answers" in log
    assert shown_flags(course) == {"beside": False, "copied": False, "twice": True}


# ------------------------------------------------------------------------------------------ links, times, deleted cells


NO_TIME = "no time of submission, so nobody knows whether it was late"


@pytest.fixture(scope="module")
def due(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Submissions without a time, with links, and without a check; there is a due date, and nothing is graded."""
    course = copy_of(released, tmp_path_factory.mktemp("due"))
    course.nbgrader("db", "assignment", "add", NAME, "--duedate=2026-01-02 00:00:00 UTC")
    for student, came in (("ann", "2026-01-01 10:00:00 UTC"), ("early", "1970-01-01 00:00:00 UTC"), ("empty", "\n")):
        hand_in(course, student, SOLVED, came=came)
    hand_in(course, "none", SOLVED)
    (course.folder / "submitted" / "ann" / NAME / "stolen").symlink_to("../../../secret")
    path = hand_in(course, "boris", SOLVED, came="2026-01-01 10:00:00 UTC")
    notebook = read(path)
    notebook.cells = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") != CHECK]
    nbformat.write(notebook, path)
    return course


CHECK = f"check-{FIRST.name}"


def test_links_times_and_deleted_cells(due: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course, stock = copy_of(due, tmp_path / "ours"), copy_of(due, tmp_path / "stock")
    results = grade(course, capsys)
    assert {student: (each["state"], each["score"], each["reasons"]) for student, each in results.items()} == {
        "ann": ("graded", TOTAL, []),
        "boris": ("flagged", TOTAL, [f"deleted and put back: {CHECK}"]),
        "early": ("flagged", TOTAL, [NO_TIME]),
        "empty": ("flagged", TOTAL, [NO_TIME]),
        "none": ("flagged", TOTAL, [NO_TIME]),
    }
    stock.nbgrader("autograde", NAME)
    flags = {"ann": False, "boris": True, "early": True, "empty": True, "none": True}
    for each in (course, stock):
        assert shown_flags(each) == flags
        assert scores(each) == dict.fromkeys(flags, TOTAL)
        assert by_hand(each, "boris", NAME, CHECK)[1] is False
        each.nbgrader("generate_feedback", NAME)
        assert not [path for place in ("autograded", "feedback") for path in (each.folder / place).rglob("stolen")]
    assert "ann: ignored: stolen (it is a link)" in stock.logs["autograde"]


def test_without_a_due_date_no_time_is_needed(due: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = copy_of(due, tmp_path)
    with opened(course) as gradebook:
        gradebook.find_assignment(NAME).duedate = None
    results = grade(course, capsys, "--student=early", "--student=empty", "--student=none")
    assert [each["reasons"] for each in results.values()] == [[], [], []]


def test_a_linked_notebook_is_refused_by_nbgrader_autograde(due: Course, tmp_path: Path) -> None:
    course = copy_of(due, tmp_path)
    path = course.folder / "submitted" / "thief" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.symlink_to(f"../../none/{NAME}/{NAME}.ipynb")
    with pytest.raises(AssertionError, match=f"{NAME}.ipynb cannot be opened: .* is a link"):
        course.nbgrader("autograde", NAME, "--student=thief")
    assert not (course.folder / "autograded" / "thief" / NAME).exists()


def test_what_was_refused_is_a_note(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    reaches = f"{SOLVED[FIRST.name]}\nimport gc\nlen(gc.get_objects())"
    hand_in(course, "ann", {**SOLVED, FIRST.name: reaches})
    result = grade(course, capsys)["ann"]
    assert result["reasons"] == []
    assert [note for note in result["notes"] if note.startswith("refused: ")]


# ------------------------------------------------------------------------------- what is said of honest students' slips


@pytest.fixture(scope="module")
def slips(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """An endless loop in a cell, an import of what is gone, and a file that is cut off; nothing is graded."""
    course = copy_of(released, tmp_path_factory.mktemp("slips"))
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write("c.RunIsolated.cell_seconds = 5\n")
    hand_in(course, "loops", {**SOLVED, FIRST.name: f"{SOLVED[FIRST.name]}\nwhile True:\n    pass"})
    gone = f"from autograder.exercises import something_removed\n{SOLVED[FIRST.name]}"
    hand_in(course, "older", {**SOLVED, FIRST.name: gone}, language="ru")
    hand_in(course, "tqdm", {**SOLVED, FIRST.name: f"import not_here\n{SOLVED[FIRST.name]}"})
    path = hand_in(course, "cut", SOLVED)
    path.write_bytes(path.read_bytes()[:-1000])
    return course


def test_slips_are_named(slips: Course, capsys: pytest.CaptureFixture[str]) -> None:
    course = slips
    assert main(["grade", str(course.folder), NAME]) == 1  # one is cut off
    said = capsys.readouterr().out
    where = f"the cell answer-{FIRST.name}"
    assert f"note: {where} ran longer than 5 s and was stopped: an endless loop?\n" in said
    gone = "cannot import name 'something_removed' from 'autograder.exercises'"
    assert f"note: {where} imports what this version of the course does not have: {gone}\n" in said
    assert f"note: {where} imports a module that is not installed here: 'not_here'\n" in said
    assert f"{NAME}.ipynb is no notebook: the file is cut off" in said
    assert "ask the student for the whole file\n" in said
    assert scores(course)["older"] == TOTAL - FIRST.points

    assert main(["feedback", str(course.folder)]) == 0
    assert "Такого имени в пакете курса нет" in course.feedback("older")
    assert main(["report", str(course.folder), "--language", "ru"]) == 0
    page = (course.folder / "report" / f"{NAME}.ru.html").read_text(encoding="utf-8")
    assert "файл обрывается на полуслове" in page


# --------------------------------------------------------------------- what changes after grading, and what must not


@contextlib.contextmanager
def opened(course: Course) -> Iterator[Gradebook]:
    with Gradebook(f"sqlite:///{course.folder / 'gradebook.db'}", "course") as gradebook:
        yield gradebook
        gradebook.db.commit()


def give_by_hand(course: Course, student: str, assignment: str, cell: str, points: float) -> None:
    """Grade a cell as formgrader does: points, and no more waiting; a comment on the notebook's first answer."""
    with opened(course) as gradebook:
        grade = gradebook.find_grade(cell, assignment, assignment, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        comments = gradebook.find_submission_notebook(assignment, assignment, student).comments
        comments[0].manual_comment = "see me"


def by_hand(course: Course, student: str, assignment: str, cell: str) -> tuple[float | None, bool, list[str]]:
    with opened(course) as gradebook:
        grade = gradebook.find_grade(cell, assignment, assignment, student)
        comments = gradebook.find_submission_notebook(assignment, assignment, student).comments
        return grade.manual_score, grade.needs_manual_grade, [c.manual_comment for c in comments if c.manual_comment]


def owed(course: Course) -> dict[str, float]:
    with opened(course) as gradebook:
        return {s.student_id: s.late_submission_penalty or 0 for s in gradebook.find_assignment(NAME).submissions}


def test_a_deadline_changed_after_grading(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    for student, came in (("ann", "2026-01-01 10:00:00 UTC"), ("boris", "2026-01-03 10:00:00 UTC")):
        hand_in(course, student, SOLVED, came=came)
    check = f"check-{FIRST.name}"
    grade(course, capsys)
    give_by_hand(course, "boris", NAME, check, 1.5)
    mine = (1.5, False, ["see me"])
    made = (course.folder / "autograded" / "boris" / NAME / f"{NAME}.ipynb").stat().st_mtime_ns

    with opened(course) as gradebook:
        gradebook.find_assignment(NAME).duedate = datetime(2026, 1, 2)
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    results = grade(course, capsys)
    assert {name: each["state"] for name, each in results.items()} == {"ann": "unchanged", "boris": "updated"}
    left = TOTAL - FIRST.points + 1.5
    assert (results["boris"]["score"], owed(course)) == (left, {"ann": 0, "boris": left})
    assert by_hand(course, "boris", NAME, check) == mine

    with opened(course) as gradebook:
        gradebook.grant_extension(NAME, "boris", days=2)
    assert grade(course, capsys)["boris"]["state"] == "updated"
    assert owed(course) == {"ann": 0, "boris": 0}
    with opened(course) as gradebook:
        gradebook.find_assignment(NAME).duedate = None  # nbgrader itself fails on an extension of nothing
    assert grade(course, capsys)["boris"]["state"] == "unchanged"
    assert by_hand(course, "boris", NAME, check) == mine
    assert (course.folder / "autograded" / "boris" / NAME / f"{NAME}.ipynb").stat().st_mtime_ns == made


def test_another_penalty_changes_what_is_owed(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    hand_in(course, "boris", SOLVED, came="2026-01-03 10:00:00 UTC")
    (course.folder / "mine.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Half(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return score / 2\n"
    )
    with opened(course) as gradebook:
        gradebook.update_or_create_assignment(NAME, duedate=datetime(2026, 1, 2))
    grade(course, capsys)
    assert owed(course) == {"boris": 0}
    with (course.folder / "nbgrader_config.py").open("a") as config:
        config.write(f"import sys; sys.path.insert(0, {str(course.folder)!r})\n")
        config.write('c.AssignLatePenalties.plugin_class = "mine.Half"\n')
    assert grade(course, capsys)["boris"]["state"] == "updated"
    assert owed(course) == {"boris": TOTAL / 2}


def test_points_by_hand_stay_after_nbgrader_autograde(
    slips: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = copy_of(slips, tmp_path)
    for student in ("loops", "tqdm", "cut"):
        shutil.rmtree(course.folder / "submitted" / student)
    grade(course, capsys)
    give_by_hand(course, "older", NAME, CHECK, 1.5)
    course.nbgrader("autograde", NAME, "--force")
    assert by_hand(course, "older", NAME, CHECK) == (1.5, True, ["see me"])
    assert main(["grade", str(course.folder)]) == 0
    said = "points and comments given by hand are kept; what waited for a person still does"
    assert f"older: graded {TOTAL - FIRST.points + 1.5:g} points" in (out := capsys.readouterr().out)
    assert f"note: graded again: {said}\n" in out
    assert by_hand(course, "older", NAME, CHECK) == (1.5, True, ["see me"])
    assert main(["grade", str(course.folder)]) == 0
    assert "graded again" not in capsys.readouterr().out
    assert by_hand(course, "older", NAME, CHECK) == (1.5, True, ["see me"])


def test_points_by_hand_wait_again_only_for_another_answer(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    def write(words: str, code: str) -> None:
        notebook = read(course.folder / "release" / "own" / "own.ipynb")
        for cell in notebook.cells:
            cell.source = {"words": words, "code": code}.get(cell.metadata.nbgrader.grade_id, cell.source)
        path = course.folder / "submitted" / "ann" / "own" / "own.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)

    def cell(made: Any, name: str, source: str, **kind: bool) -> Any:
        all_kinds = {"grade": False, "solution": False, "locked": False, "task": False, **kind}
        points = {"points": 2} if kind.get("grade") else {}
        return made(source, metadata={"nbgrader": {"grade_id": name, "schema_version": 3, **all_kinds, **points}})

    cells = [
        cell(new_markdown_cell, "words", "In words?", grade=True, solution=True),
        cell(new_code_cell, "code", "x = 1", solution=True),
        cell(new_code_cell, "test", "assert x", grade=True, locked=True),
    ]
    path = course.folder / "source" / "own" / "own.ipynb"
    path.parent.mkdir()
    kernel = {"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
    course.nbgrader("generate_assignment", "own")
    write("Because.", "x = 2")
    run = ["grade", str(course.folder), "own"]
    assert main(run) == 0
    for name in ("words", "test"):
        give_by_hand(course, "ann", "own", name, 1)

    def waiting() -> dict[str, bool]:
        return {name: by_hand(course, "ann", "own", name)[1] for name in ("words", "test")}

    assert main([*run, "--force"]) == 0
    assert waiting() == {"words": False, "test": False}
    write("Because.", "x = 3")
    assert main(run) == 0
    assert waiting() == {"words": False, "test": True}
    assert main([*run, "--force"]) == 0
    assert waiting() == {"words": False, "test": True}  # nobody has looked yet
    write("Something else.", "x = 3")
    assert main(run) == 0
    assert waiting() == {"words": True, "test": True}
    assert by_hand(course, "ann", "own", "words") == (1, True, ["see me"])
