"""The wheel: the whole course runs from it, and the sandbox hides its solutions."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from autograder.learner.lab import CONTENTS
from autograder.lessons.collection import COURSE
from autograder.lessons.source import REPOSITORY
from support.course import BIN

pytestmark = pytest.mark.long(10)

NAME = "00_first_gradient"
# Names of the files that hold solutions, mistakes or expected results, as the submission finds them.
SEARCH = """
import os
for folder, _, files in os.walk("/"):
    for name in files:
        if name.startswith("00_first_gradient") or name in ("descend.json", "descend.py"):
            print(os.path.join(folder, name))
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel."""
    dist, folder = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("unpacked")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", dist]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = dist.glob("autograd_course-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def run(unpacked: Path) -> Run:
    """Run a program with the unpacked wheel in the place of the repository."""

    def run(*program: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(BIN), os.environ["PATH"]])
        environment = {**os.environ, "PYTHONPATH": str(unpacked), "PATH": path}
        return subprocess.run(program, cwd=cwd, env=environment, capture_output=True, text=True)

    where = run(sys.executable, "-c", "import autograder; print(autograder.__file__)", cwd=unpacked.parent)
    assert where.stdout.startswith(str(unpacked))
    return run


def test_every_file_of_the_package_is_in_the_wheel(unpacked: Path) -> None:
    package = REPOSITORY / "autograder"
    files = {path.relative_to(REPOSITORY) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert len(files) > 300
    assert [path for path in files if not (unpacked / path).is_file()] == []
    for name in ("README.md", "README.ru.md", "assets/card.ru.png"):  # for the site
        assert (unpacked / "autograder/site/documents" / name).read_bytes() == (REPOSITORY / name).read_bytes()


def test_lab_copies_every_notebook(run: Run, tmp_path: Path, language: str) -> None:
    done = run(sys.executable, "-m", "autograder", "lab", "--prepare", f"--language={language}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for path in (COURSE.notebooks / language).glob("*.ipynb"):
        copied = nbformat.read(tmp_path / "work" / language / path.name, 4)
        if path.name == CONTENTS:
            (table,) = (cell for cell in copied.cells if cell.cell_type == "code")
            (shown,) = table.pop("outputs")
            assert shown["data"]["text/plain"].count("\n") == len(COURSE.read()) + 4
            table.outputs = []
        assert copied == nbformat.read(path, 4)


@pytest.mark.nightly(twin="tests/grading/test_wheel.py::test_lab_copies_every_notebook")
def test_a_course_is_made_and_graded_and_no_solution_is_seen(run: Run, tmp_path: Path) -> None:
    course = tmp_path / "course"
    assert run(sys.executable, "-m", "autograder", "course", course, cwd=tmp_path).returncode == 0
    released = run(BIN / "nbgrader", "generate_assignment", NAME, cwd=course)
    assert released.returncode == 0, released.stderr
    notebook = nbformat.read(course / "release" / NAME / f"{NAME}.ipynb", 4)
    (lesson,) = COURSE.read(["first_gradient"])
    for cell in notebook.cells:
        if cell.id.startswith("answer-"):
            cell.source = lesson.of("answer", cell.id.removeprefix("answer-"))[0].source
    notebook.cells.append(nbformat.v4.new_code_cell(SEARCH))
    (course / "submitted" / "ann" / NAME).mkdir(parents=True)
    nbformat.write(notebook, course / "submitted" / "ann" / NAME / f"{NAME}.ipynb")
    graded = run(sys.executable, "-m", "autograder", "grade", ".", cwd=course)
    assert "points: 10 on average" in graded.stdout, graded.stderr
    found = nbformat.read(course / "autograded" / "ann" / NAME / f"{NAME}.ipynb", 4).cells[-1]
    assert found.outputs == []
