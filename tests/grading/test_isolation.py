"""The choice of a wall where namespaces are forbidden, as in Docker and many clusters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.course import BIN, Course
from support.first_gradient import LESSON
from support.forbidden import LANDLOCK, NAMESPACES, forbid
from support.submissions import all_of, expected_scores, read

pytestmark = pytest.mark.long(20)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    submissions = [each for each in all_of(LESSON) if each.student in ("solved-en", "mistakes-1")]
    course = Course.make(tmp_path_factory.mktemp("walls") / "calculus", LESSON, submissions=submissions)
    course.hand_in_all()
    return course


def grade(course: Course, calls: dict[str, tuple[int, int]], *options: str) -> subprocess.CompletedProcess[str]:
    command = forbid(calls, [BIN / "autograder", "grade", course.folder, "--json", "--force", *options])
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_course_for_the_first_wall_is_not_graded_behind_another(course: Course) -> None:
    for options in ((), ("--isolation=full",)):
        done = grade(course, NAMESPACES, *options)
        assert (done.returncode, done.stdout) == (1, "")
        assert "nothing was graded" in done.stderr
        assert "autograder doctor" in done.stderr


NIGHTLY = pytest.mark.nightly(twin="tests/grading/test_isolation.py::test_grading_behind_the_second_wall_is_right")
OPTIONS = [pytest.param(f"--isolation={wall}", marks=NIGHTLY) for wall in ("auto", "landlock")]


@pytest.mark.parametrize("option", [*OPTIONS, "in the config"])
def test_grading_behind_the_second_wall_is_right(option: str, course: Course, tmp_path: Path) -> None:
    if not option.startswith("--"):
        course = course.copy(tmp_path / "course")
        course.configure("c.RunIsolated.isolation = 'auto'")
    done = grade(course, NAMESPACES, *[option] * option.startswith("--"))
    assert done.returncode == 0, done.stderr
    assert ("answers are isolated by Landlock" in done.stderr) == (option != "--isolation=landlock")
    found = {each["student"]: each for each in json.loads(done.stdout)[course.name]}
    for each in course.submissions:
        expected = expected_scores(each, read(course.released(each.language)), course.lesson)
        assert (found[each.student]["score"], found[each.student]["reasons"]) == (sum(expected.values()), [])


def test_auto_never_falls_to_none(course: Course) -> None:
    done = grade(course, NAMESPACES | LANDLOCK, "--isolation=auto")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing was graded" in done.stderr
