"""Both releases of a lesson: what nbgrader hands out, and what it validates."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nbformat
import pytest

from autograder.lessons.collection import COURSE
from support.course import BIN, Course
from support.submissions import read


def test_both_releases_are_the_committed_notebooks(released: Course) -> None:
    for language in ("en", "ru"):
        committed = read(COURSE.notebooks / language / f"{released.name}.ipynb")
        notebook = read(released.released(language))
        assert notebook.metadata.autograder.pop("assignment") == released.name
        assert notebook == committed


def test_both_releases_are_one_assignment(released: Course) -> None:
    english, russian = (
        [
            (cell.id, cell.metadata.nbgrader, cell.source)
            for cell in read(released.released(x)).cells
            if "nbgrader" in cell.metadata
        ]
        for x in ("en", "ru")
    )
    assert english
    assert english == russian


def test_no_release_holds_a_solution_a_rubric_or_the_other_language(released: Course) -> None:
    for language in ("en", "ru"):
        notebook = read(released.released(language))
        text = nbformat.writes(notebook)
        assert "BEGIN SOLUTION" not in text
        assert '"given"' not in text
        assert {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])} <= {language}
        assert notebook.metadata.autograder.language == language


def test_an_unknown_language_stops_nbgrader(released: Course) -> None:
    environment = {**os.environ, "AUTOGRADER_LANGUAGE": "de"}
    command = [BIN / "nbgrader", "generate_assignment", released.name, "--no-db"]
    done = subprocess.run(command, cwd=released.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "set it to one of en, ru" in done.stderr
    assert not (released.folder / "release-de").exists()


NIGHTLY = pytest.mark.nightly(
    twin="tests/grading/plugin/test_released_notebooks.py::test_validate_shows_the_text_of_the_card"
)


@pytest.mark.usefixtures("quick_kernels")
@pytest.mark.parametrize(
    ("student", "says"), [pytest.param("solved-en", "Success!", marks=NIGHTLY), ("blank-ru", "ВАШ ОТВЕТ")]
)
def test_validate_shows_the_text_of_the_card(released: Course, tmp_path: Path, student: str, says: str) -> None:
    """nbgrader's Validate shows what stands on stderr and nothing else: the text of the card."""
    submission, path = released.submission(student), tmp_path / f"{released.name}.ipynb"
    nbformat.write(submission.notebook(read(released.released(submission.language))), path)
    log = released.nbgrader("validate", path.name, cwd=tmp_path)
    assert says in log
    assert ("Вместо ответа пока заготовка" in " ".join(log.split())) == (student == "blank-ru")
