"""The self-test of grading: every lesson can be graded behind both walls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading.course.hidden_cases import lesson_of
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.submission.self_test import grade_packaged_lesson
from autograder.grading.wall_kinds import Wall
from autograder.lessons.collection import COURSE
from autograder.lessons.source import Lesson

pytestmark = pytest.mark.long(20)

NIGHTLY = pytest.mark.nightly(
    twin="tests/grading/submission/test_self_test.py::test_the_solutions_of_a_lesson_get_all_points"
)


@pytest.fixture(scope="module", params=[Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine for one lesson after the other, as for a whole course."""
    with Engine(Limits(), wall=request.param) as engine:
        yield engine


def test_an_exercise_that_moved_is_graded_in_a_notebook_released_before(engine: Engine, tmp_path: Path) -> None:
    (today,) = COURSE.read(["engine"])
    source = tmp_path / "source" / today.file_name / f"{today.file_name}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text('{"grade_id": "check-one_graph"}')
    lesson, known = lesson_of(tmp_path, today.file_name)
    assert known.keys() == {*COURSE.exercises(today), "one_graph"}
    cells = [cell for cell in lesson.cells if cell.role and cell.role[1] in ("node_order", "one_graph")]
    imports = next(cell for cell in lesson.cells if "import torch" in cell.source)
    some = {name: known[name] for name in ("node_order", "one_graph")}
    grade_packaged_lesson(engine, replace(lesson, cells=[imports, *cells]), some)


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_the_solutions_of_a_lesson_get_all_points(lesson: Lesson, engine: Engine) -> None:
    grade_packaged_lesson(engine, lesson, COURSE.exercises(lesson))
