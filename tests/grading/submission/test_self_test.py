"""The self-test of grading: every lesson can be graded behind both walls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.grading.limits import Limits, Wall
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.submission.self_test import grade_packaged_lesson
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


@pytest.mark.parametrize("lesson", COURSE.read(), ids=lambda lesson: lesson.name)
def test_the_solutions_of_a_lesson_get_all_points(lesson: Lesson, engine: Engine) -> None:
    grade_packaged_lesson(engine, lesson, COURSE.exercises(lesson))
