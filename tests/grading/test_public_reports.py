"""What students hand in instead of a notebook, and what instructors are told of it."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from autograder.cli import main
from autograder.lessons.collection import COURSE
from support import public_reports
from support.course import Course
from support.first_gradient import LESSON, NAME, SOLVED, TOTAL
from support.lms import collect, write_archive
from support.public_reports.instead import INSTEAD
from support.solved import solved_notebook

(WITH_A_QUESTION,) = COURSE.read(["gradient_accumulation"])
FOLDER = Path(public_reports.__file__).parent
# What `autograder grade` says of each file that cannot be graded. A text in it is the remedy or the cause.
UNREADABLE = {
    "lfs_pointer": "is a pointer of Git LFS and not the file",
    "link_text": "is a link, not a notebook",
    "merge_conflict": "holds an unfinished merge of git (lines with <<<<<<<",
    "only_nul_bytes": "holds only zero bytes, so it was not uploaded whole",
    "web_page": "is a web page, not the notebook: ask the student to download",
    "other_lesson_under_this_name": "is the notebook of 03_gradient_accumulation",
}


def report(name: str) -> Any:
    return importlib.import_module(f"support.public_reports.{name}")


def changed(name: str, course: Course) -> bytes:
    change = INSTEAD.get(name) or report(name).change
    data: bytes = change(json.loads(json.dumps(solved_notebook(course.lesson, "en"))))
    return data


def name_of(case: str) -> str:
    return f"{NAME}.ipynb.txt" if case == "whole_notebook_named_txt" else f"{NAME}.ipynb"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = Course.make(tmp_path_factory.mktemp("instead") / "course", languages=["en"])
    for name in INSTEAD:
        path = made.submitted(name).with_name(name_of(name))
        path.parent.mkdir(parents=True)
        path.write_bytes(changed(name, made))
    return made


@pytest.fixture(scope="module")
def results(course: Course) -> dict[str, dict[str, Any]]:
    return course.grade()


@pytest.mark.parametrize("name", UNREADABLE)
def test_grade_names_what_was_handed_in(name: str, results: dict[str, dict[str, Any]]) -> None:
    assert results[name]["state"] == "failed"
    (why,) = results[name]["reasons"]
    assert f"{NAME}.ipynb {UNREADABLE[name]}" in why


def test_zero_bytes_at_the_end_and_another_suffix_cost_nothing(results: dict[str, dict[str, Any]]) -> None:
    padded, named = results["nul_bytes_at_the_end"], results["whole_notebook_named_txt"]
    for each in (padded, named):
        assert (each["state"], each["score"], each["reasons"]) == ("graded", TOTAL, [])
    ignored = f"zero bytes at the end of {NAME}.ipynb were ignored: a crash or a full disk leaves them"
    assert padded["notes"] == [ignored]
    assert named["notes"] == [f"graded: {NAME}.ipynb.txt"]


def test_collect_names_the_same(course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = Course.make(tmp_path / "course", languages=["en"])
    files = {f"{name}/{name_of(name)}": changed(name, course) for name in INSTEAD}
    assert collect(empty, write_archive(tmp_path / "all.zip", files)) == 1
    said = capsys.readouterr().out
    for name, why in UNREADABLE.items():
        (line,) = (line for line in said.splitlines() if line.startswith(f"  no place: {name}: "))
        assert why in line
    taken = {path.parent.name for path in (empty.folder / "submitted").glob("*/*")}
    assert taken == set(INSTEAD) - set(UNREADABLE)


@pytest.mark.parametrize("name", ["a_attachment_that_is_gone", "a_empty_attachment_link"])
def test_a_missing_picture_costs_nobody_a_page(name: str, tmp_path: Path) -> None:
    """The page names the picture. Formgrader's page is made by the same step (`plugin/test_acting_markup.py`)."""
    (lesson,) = (each for each in (LESSON, WITH_A_QUESTION) if each.file_name == report(name).LESSON)
    course = Course.make(tmp_path / "course", lesson, languages=["en"])
    course.hand_in("ann", changed(name, course).decode())
    (result,) = course.grade().values()
    assert (result["state"], result["reasons"]) == ("graded", [])
    assert main(["feedback", str(course.folder)]) == 0
    assert "a picture is not in the notebook" in course.feedback("ann")


def test_a_module_of_the_instructor_wins_and_can_be_imported(tmp_path: Path) -> None:
    course = Course.make(tmp_path / "course", languages=[])
    first, second, *_ = [line for line in _script("a_module_beside_the_notebook") if not line.startswith("#")]
    subprocess.run(first, shell=True, check=True, cwd=course.folder)
    assert second == f"nbgrader generate_assignment {NAME}"
    course.release("en")
    (name,) = (name for name in SOLVED if name == "descend")
    code = f"from constants import VALUE\n{SOLVED[name]}".replace("lr *", "lr * VALUE *")
    course.hand_in("with", {**SOLVED, name: code}, beside={"constants.py": "VALUE = 7.0\n"})
    course.hand_in("without", {**SOLVED, name: code})
    for result in course.grade().values():
        assert (result["state"], result["score"], result["notes"]) == ("graded", TOTAL, [])


def _script(name: str) -> list[str]:
    return (FOLDER / f"{name}.sh").read_text(encoding="utf-8").splitlines()


def test_zones_are_read_or_the_hand_in_is_flagged(tmp_path: Path) -> None:
    """Each line of the report is the timestamp.txt of a hand-in, in both graders."""
    course = Course.make(tmp_path / "course", languages=["en"])
    course.set_due(datetime(2026, 10, 31, 23, 30))  # nbgrader stores times in UTC without a zone
    lines = (FOLDER / "a_time_zones_in_timestamp.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        course.hand_in(line.split()[-1].strip("+"), SOLVED, came=line)
    stock = course.copy(tmp_path / "stock")
    unknown = ["timestamp.txt holds no time, so nobody knows whether it was late"]
    assert {name: each["reasons"] for name, each in course.grade().items()} == {
        "MSK": unknown,
        "0300": [],
        "EDT": unknown,
    }
    stock.nbgrader("autograde", NAME)
    for each in (course, stock):
        with each.gradebook() as book:
            times = {found.student_id: found.timestamp for found in book.find_assignment(NAME).submissions}
        assert times == {"MSK": None, "0300": datetime(2026, 10, 31, 23), "EDT": None}
        assert each.shown_flags() == {"MSK": True, "0300": False, "EDT": True}


def test_a_cyrillic_letter_in_a_key_is_named(course: Course, results: dict[str, dict[str, Any]]) -> None:
    """On the page of feedback; the learner's own card is the same."""
    name = "cyrillic_letter_in_a_key"
    assert results[name]["state"] == "graded"
    assert main(["feedback", str(course.folder)]) == 0
    page = " ".join(re.sub(r"<[^>]+>", "", course.feedback(name)).split())
    assert "х.grad is no entry of this table: its letter х is Cyrillic. Type x.grad in Latin letters." in page


def test_two_folders_deep_are_two_students(tmp_path: Path) -> None:
    course, archive = Course.make(tmp_path / "course", languages=["en"]), tmp_path / "class.zip"
    report("a_plain_archive_with_two_top_folders").archive(archive, json.dumps(solved_notebook(LESSON, "en")).encode())
    assert collect(course, archive) == 0
    assert {path.name for path in (course.folder / "submitted").iterdir()} == {"Ann Lee", "Bo Neil"}
