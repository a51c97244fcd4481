"""Points that an instructor changed in `source/`: scores are scaled, and the card says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.authoring.build import COURSE
from autograder.authoring.source import solutions
from autograder.checking.verdict import MIME
from autograder.grading.course.create import make_course
from support.course import BIN, Course
from support.submissions import Submission, read

POINTS = {"check-train_epoch": (7, 3), "check-accumulate_equal": (3, 6), "check-accumulate_uneven": (4, 1)}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course with changed points and two submissions: all right, and half of `accumulate_equal` right."""
    (lesson,) = COURSE.read(["gradient_accumulation"])
    folder = tmp_path_factory.mktemp("points") / "calculus"
    make_course(folder, None)
    source = folder / "source" / lesson.file_name / f"{lesson.file_name}.ipynb"
    notebook = read(source)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in POINTS:
            assert cell.metadata.nbgrader.points == POINTS[name][0]
            cell.metadata.nbgrader.points = POINTS[name][1]
    nbformat.write(notebook, source)
    known = COURSE.exercises(lesson)
    solved = {name: solutions(exercise)[0] for name, exercise in known.items()}
    # One backward pass over the whole window: the gradient is right, the number of passes is not.
    concatenated = (
        "def accumulate_equal(model, batches):\n"
        "    model.zero_grad()\n"
        "    x, y = (torch.cat(parts) for parts in zip(*batches))\n"
        "    mse_loss(model(x), y).backward()\n"
    )
    made = Course(
        folder,
        lesson,
        [Submission("right", "en", solved), Submission("half", "ru", {**solved, "accumulate_equal": concatenated})],
    )
    made.nbgrader("generate_assignment", made.name)
    for submission in made.submissions:
        target = folder / "submitted" / submission.student / made.name / f"{made.name}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(submission.notebook(read(made.released("en"))), target)
    subprocess.run([BIN / "autograder", "grade", folder], check=True, capture_output=True)
    return made


def _scores(folder: Path, course: Course, student: str) -> dict[str, tuple[float, float]]:
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "calculus") as gradebook:
        (notebook,) = gradebook.find_submission(course.name, student).notebooks
        return {grade.name: (grade.auto_score, grade.max_score) for grade in notebook.grades if grade.name in POINTS}


def test_a_right_answer_has_all_points_of_its_cell(course: Course) -> None:
    expected = {name: (new, new) for name, (_, new) in POINTS.items()}
    assert _scores(course.folder, course, "right") == expected


def test_a_half_right_answer_has_its_share(course: Course) -> None:
    assert _scores(course.folder, course, "half")["check-accumulate_equal"] == (4, 6)


def test_the_card_says_both_numbers(course: Course) -> None:
    path = course.folder / "autograded" / "half" / course.name / f"{course.name}.ipynb"
    cell = next(
        c for c in read(path).cells if c.metadata.get("nbgrader", {}).get("grade_id") == "check-accumulate_equal"
    )
    (output,) = cell.outputs
    assert "2 of 3 points" in output.data["text/html"]
    assert "worth 6 points. This answer earns 4 of them" in output.data["text/html"]
    assert output.data[MIME]["state"] == "not yet"


def test_nbgrader_autograde_gives_the_same(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "calculus"
    shutil.copytree(course.folder, folder)
    subprocess.run([BIN / "nbgrader", "autograde", course.name, "--student=half", "--force"], cwd=folder, check=True,
                   capture_output=True)  # fmt: skip
    assert _scores(folder, course, "half") == _scores(course.folder, course, "half")


def test_points_changed_after_grading_are_taken_over(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "calculus"
    shutil.copytree(course.folder, folder)
    source = folder / "source" / course.name / f"{course.name}.ipynb"
    notebook = read(source)
    (cell,) = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "check-accumulate_equal")
    cell.metadata.nbgrader.points = 12
    nbformat.write(notebook, source)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    for command in (["nbgrader", "generate_assignment", course.name, "--force"], ["autograder", "grade", "."]):
        subprocess.run([BIN / command[0], *command[1:]], cwd=folder, env=environment, check=True, capture_output=True)
    assert _scores(folder, course, "half")["check-accumulate_equal"] == (8, 12)
    assert _scores(folder, course, "right")["check-accumulate_equal"] == (12, 12)
