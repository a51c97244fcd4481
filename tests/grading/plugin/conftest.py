"""A course that tests of nbgrader's commands share."""

from __future__ import annotations

import pytest

from autograder.lessons.collection import COURSE
from support.course import Course
from support.submissions import all_of


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course folder with both releases made."""
    (lesson,) = COURSE.read(["gradient_accumulation"])
    return Course.make(tmp_path_factory.mktemp("course") / "calculus", lesson, submissions=all_of(lesson))
