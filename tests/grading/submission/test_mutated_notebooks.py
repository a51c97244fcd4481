"""Notebooks that no student's program would write: graded, or refused with a reason."""

from __future__ import annotations

import copy
import json
import os
import socket
from pathlib import Path

import nbformat
import pytest

from autograder.grading.files import notebook_file
from autograder.grading.files.notebook_file import Unreadable
from autograder.grading.gradebook.book import Book
from autograder.grading.gradebook.released_notebooks import ReleasedNotebook
from autograder.grading.submission.sanitize import Sanitized, sanitize
from autograder.grading.submission.submitted_notebook import SubmittedNotebook
from autograder.lessons.collection import COURSE
from fuzz.broken_notebooks import HARMFUL, HARMLESS, Json, mutated, shown
from support.course import Course, run_autograder
from support.submissions import all_of, read

pytestmark = pytest.mark.long(20)

COUNT, GRADED = 300, 60
NAME = "00_first_gradient"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    (lesson,) = COURSE.read(["first_gradient"])
    return Course.make(tmp_path_factory.mktemp("fuzz") / "calculus", lesson, submissions=all_of(lesson))


@pytest.fixture(scope="module")
def honest(course: Course) -> Json:
    made: Json = json.loads(nbformat.writes(course.submission("solved-en").notebook(read(course.released("en")))))
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"])
    return made


@pytest.fixture(scope="module")
def released(course: Course) -> ReleasedNotebook:
    with course.gradebook() as book:
        return Book(book).released(NAME)[NAME]


def sanitized(path: Path, released: ReleasedNotebook) -> Sanitized | str:
    """The notebook made anew, or why it cannot be."""
    try:
        return sanitize(SubmittedNotebook(notebook_file.read_notebook(path), released))
    except Unreadable as error:
        return str(error)


def check_reason(reason: str, file: str) -> None:
    assert file in reason
    assert len(reason) > len(file) + 5
    assert not any(word in reason for word in ("Traceback", "\n", "our error", "None", "Errno"))


def test_a_mutated_notebook_is_made_anew_or_refused(honest: Json, released: ReleasedNotebook, tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.ipynb"
    right = shown(sanitize(SubmittedNotebook(honest, released)).notebook)
    outcomes = dict.fromkeys([*HARMFUL, *HARMLESS], 0)
    for number in range(COUNT):
        name, data = mutated(honest, number)
        path.write_bytes(data)
        clean = sanitized(path, released)
        if isinstance(clean, str):
            assert name in HARMFUL, (number, name, clean)
            check_reason(clean, path.name if "more than can be run" not in clean else "")
            continue
        outcomes[name] += 1
        check_clean(clean, released)
        if name in HARMLESS:
            assert shown(clean.notebook) == right, (number, name)
    refused = {name for name, count in outcomes.items() if not count}
    assert refused >= {"truncated", "empty", "garbage", "wrong_encoding", "no_object", "format_named"}
    assert refused <= {*HARMFUL} - {"wrong_types", "wrong_fields", "keys_gone", "surrogates", "cells_shuffled", "deep"}


def check_clean(clean: Sanitized, released: ReleasedNotebook) -> None:
    """Check that a notebook can be run, written and read again.

    It has each released cell at most once, as it was.
    """
    notebook = nbformat.reads(nbformat.writes(clean.notebook), as_version=4)
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()
    names = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert sorted([*names, *clean.missing]) == sorted(released.cells)
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"nbgrader"}
        if "nbgrader" in cell.metadata:
            known = released.cells[cell.metadata.nbgrader.grade_id]
            assert cell.cell_type == known.cell_type
            assert cell.source == known.source or not known.locked
            assert cell.metadata.nbgrader == known.metadata(cell.metadata.nbgrader.grade_id)


def odd_folders(submitted: Path, honest: Json) -> dict[str, str]:
    """Make folders with something else than a notebook; return what is said of each.

    Nothing is said where it is graded.
    """
    good = json.dumps(honest)

    def folder(student: str) -> Path:
        made = submitted / student / NAME
        made.mkdir(parents=True)
        return made / f"{NAME}.ipynb"

    folder("a-directory").mkdir()
    os.mkfifo(folder("a-fifo"))
    folder("a-link").symlink_to("/etc/passwd")
    folder("a-link-to-nowhere").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as end:
        place = folder("a-socket")
        before = Path.cwd()
        os.chdir(place.parent)  # its whole path would be too long for a socket
        end.bind(place.name)
        os.chdir(before)
    folder("nothing")
    folder("another-name").with_name("Homework (1).ipynb").write_text(good)
    folder("too-large").write_bytes(b"[" + b" " * notebook_file.LARGEST_NOTEBOOK + b"]")
    more = folder("more-files")
    more.write_text(good)
    for name in ("torch.py", "autograder.py", ".autograder.json", "sitecustomize.py", "a\nb", "x" * 200):
        more.with_name(name).write_text("raise SystemExit")
    os.mkfifo(more.with_name("fifo"))
    more.with_name("link").symlink_to("/")
    more.with_name("exercises").mkdir()
    no_time = folder("no-time")
    no_time.write_text(good)
    no_time.with_name("timestamp.txt").write_text("yesterday, honestly")
    time_link = folder("linked-time")
    time_link.write_text(good)
    time_link.with_name("timestamp.txt").symlink_to("/etc/passwd")
    folder("<b>\x1b[2J\u202e name").write_text(good)
    outputs = copy.deepcopy(honest)
    outputs["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]
    folder("50-mb").write_text(json.dumps(outputs))
    return {
        "a-directory": "no regular file",
        "a-fifo": "no regular file",
        "a-link": "it is a link",
        "a-link-to-nowhere": "it is a link",
        "a-socket": "cannot be opened",
        "nothing": "no notebook",
        "another-name": "",
        "too-large": "MB are read",
        "more-files": "",
        "no-time": "holds no time",
        "linked-time": "holds no time",
        "<b>\x1b[2J\u202e name": "",
        "50-mb": "",
    }


def test_mutated_notebooks_and_odd_folders_are_graded_or_refused(course: Course, honest: Json) -> None:
    submitted = course.folder / "submitted"
    said = odd_folders(submitted, honest)
    names: dict[str, str] = {}
    for number in range(GRADED):
        name, data = mutated(honest, number)
        student = f"fuzz-{number:02}"
        course.hand_in(student, "").write_bytes(data)
        names[student] = name
    assert {*names.values()} == {*HARMFUL, *HARMLESS}
    for number in range(5):
        course.hand_in(f"{'az'[number % 2]}-honest-{number}", json.dumps(honest))
    done = run_autograder("grade", course.folder, "--json", timeout=600)
    assert "Traceback" not in done.stderr
    results = {result["student"]: result for result in json.loads(done.stdout)[NAME]}
    assert done.returncode == 1
    assert set(results) == {each.name for each in submitted.iterdir()}
    full = results["a-honest-0"]["score"]
    assert full
    for student, result in results.items():
        reasons = "\n".join(result["reasons"])
        assert result["state"] in ("graded", "flagged", "failed"), student
        assert not any(word in reasons for word in ("Traceback", "our error", "Errno", "None")), (student, reasons)
        assert (result["state"] == "failed") == (result["score"] is None), student
        assert bool(reasons) == (result["state"] != "graded"), student
        assert (result["score"] or 0) <= full, student
        if "honest" in student or names.get(student) in HARMLESS:
            assert (result["state"], result["score"]) == ("graded", full), (student, names.get(student), reasons)
        if student in said:
            assert said[student] in reasons, student
            assert (result["state"] == "graded") == (not said[student]), student
    table = run_autograder("grade", course.folder, timeout=600)  # what failed is tried again, and fails again
    assert table.returncode == 1
    assert "\x1b" not in table.stdout
    with course.gradebook() as book:
        scores = {each.student.id: each.score for each in book.assignment_submissions(NAME)}
    assert scores == {name: result["score"] for name, result in results.items() if result["score"] is not None}
