"""Points that an instructor changed in `source/`: scaled scores, and the card."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from autograder.checking.verdict import MIME
from autograder.lessons.collection import COURSE
from autograder.lessons.source import solutions
from support.course import Course, run_autograder
from support.submissions import Submission, read

POINTS = {"check-train_engine": (3, 7), "check-fix_zero_inside": (3, 6), "check-accumulate_uneven": (4, 1)}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course with changed points and two submissions.

    One is all right, the other has half of `fix_zero_inside`.
    """
    (lesson,) = COURSE.read(["gradient_accumulation"])
    made = Course.make(tmp_path_factory.mktemp("points") / "calculus", lesson, languages=())
    notebook = read(made.source)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in POINTS:
            assert cell.metadata.nbgrader.points == POINTS[name][0]
            cell.metadata.nbgrader.points = POINTS[name][1]
    nbformat.write(notebook, made.source)
    made.release("en")
    known = COURSE.exercises(lesson)
    solved = {name: solutions(exercise)[0] for name, exercise in known.items()}
    # One backward pass over the whole window: the weights are right, the number of passes is not.
    concatenated = (
        "def fix_zero_inside(model, optimizer, batches, accumulation_steps):\n"
        "    for i in range(0, len(batches), accumulation_steps):\n"
        "        optimizer.zero_grad()\n"
        "        x, y = (torch.cat(parts) for parts in zip(*batches[i : i + accumulation_steps]))\n"
        "        mse_loss(model(x), y).backward()\n"
        "        optimizer.step()\n"
    )
    made.hand_in("right", solved)
    half = Submission("half", "ru", {**solved, "fix_zero_inside": concatenated})
    made.hand_in("half", half.notebook(read(made.released("en"))))
    assert run_autograder("grade", made.folder).returncode == 0
    return made


def _scores(course: Course, student: str) -> dict[str, tuple[float, float]]:
    with course.gradebook() as gradebook:
        (notebook,) = gradebook.find_submission(course.name, student).notebooks
        return {grade.name: (grade.auto_score, grade.max_score) for grade in notebook.grades if grade.name in POINTS}


def test_a_right_answer_has_all_points_of_its_cell(course: Course) -> None:
    expected = {name: (new, new) for name, (_, new) in POINTS.items()}
    assert _scores(course, "right") == expected


def test_a_half_right_answer_has_its_share(course: Course) -> None:
    assert _scores(course, "half")["check-fix_zero_inside"] == (4, 6)


def test_the_card_says_both_numbers(course: Course) -> None:
    cell = next(
        c
        for c in read(course.autograded("half")).cells
        if c.metadata.get("nbgrader", {}).get("grade_id") == "check-fix_zero_inside"
    )
    (output,) = cell.outputs
    assert "2 of 3 points" in output.data["text/html"]
    assert "worth 6 points. This answer earns 4 of them" in output.data["text/html"]
    assert output.data[MIME]["state"] == "not yet"


def test_nbgrader_autograde_gives_the_same(course: Course, tmp_path: Path) -> None:
    stock = course.copy(tmp_path)
    stock.nbgrader("autograde", course.name, "--student=half", "--force")
    assert _scores(stock, "half") == _scores(course, "half")


def test_points_changed_after_grading_are_taken_over(course: Course, tmp_path: Path) -> None:
    changed = course.copy(tmp_path)
    notebook = read(changed.source)
    (cell,) = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "check-fix_zero_inside")
    cell.metadata.nbgrader.points = 12
    nbformat.write(notebook, changed.source)
    changed.release("en", "--force")
    assert run_autograder("grade", ".", cwd=changed.folder).returncode == 0
    assert _scores(changed, "half")["check-fix_zero_inside"] == (8, 12)
    assert _scores(changed, "right")["check-fix_zero_inside"] == (12, 12)
