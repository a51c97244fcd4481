"""Habits of public notebooks beside right answers, many in one notebook, which cost no points."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pytest

from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.grading.wall_kinds import Wall
from autograder.lessons.source import Lesson
from hostile.habits import ALL, HARMED, LOSES, together
from hostile.habits.habit import Habit
from hostile.habits.notebook import Points, learners_points, notebook
from support.assignment import Assignment, open_assignment, points
from support.course import forked_fork_servers

pytestmark = pytest.mark.long(55)

LIMITS = Limits(cell_seconds=60, total_seconds=200, memory=2 << 30)
TOGETHER = together()


@contextlib.contextmanager
def _opened(
    wall: str, lesson: Lesson, exercises: dict[str, Exercise], made: pytest.TempPathFactory
) -> Iterator[Assignment]:
    """A full wall has its fork server forked, which is quicker."""
    quick = forked_fork_servers() if wall == Wall.FULL else contextlib.nullcontext()
    with quick, open_assignment(lesson, exercises, made.mktemp("public"), LIMITS, wall=wall) as assignment:
        yield assignment


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with _opened(Wall.FULL, lesson_source, exercises, tmp_path_factory) as opened:
        yield opened


@pytest.fixture(scope="module")
def second_wall(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with _opened(Wall.LANDLOCK, lesson_source, exercises, tmp_path_factory) as opened:
        yield opened


@pytest.fixture(scope="module")
def local(assignment: Assignment, tmp_path_factory: pytest.TempPathFactory) -> Points:
    """Points by notebook and exercise from the learner's own `check`."""
    notebooks = {name: notebook(assignment, habits) for name, habits in TOGETHER.items()}
    return learners_points(notebooks, tmp_path_factory.mktemp("home"))


def _assert_full_points(assignment: Assignment, habits: Sequence[Habit]) -> None:
    outcome, _ = assignment.hand_in(notebook(assignment, habits))
    assert (outcome.flags, outcome.ended) == ([], None)
    assert points(outcome) == assignment.all_points()
    notes = [note for note in outcome.notes if "is not installed here" not in note]
    refused = [habit.refused for habit in habits if habit.refused]
    assert [note for note in notes if not any(part in note for part in refused)] == []


@pytest.mark.parametrize("kind", TOGETHER)
def test_habits_of_a_kind_cost_nothing(kind: str, assignment: Assignment) -> None:
    _assert_full_points(assignment, TOGETHER[kind])


@pytest.mark.nightly(twin="tests/hostile/test_public_habits.py::test_habits_of_a_kind_cost_nothing")
@pytest.mark.parametrize("kind", TOGETHER)
def test_habits_of_a_kind_cost_a_learner_nothing(kind: str, assignment: Assignment, local: Points) -> None:
    assert local[kind] == assignment.all_points()


@pytest.mark.nightly(twin="tests/hostile/test_public_habits.py::test_habits_of_a_kind_cost_nothing")
@pytest.mark.parametrize("kind", TOGETHER)
def test_habits_of_a_kind_cost_nothing_behind_the_second_wall(kind: str, second_wall: Assignment) -> None:
    _assert_full_points(second_wall, TOGETHER[kind])


def test_each_habit_has_a_name_of_its_own() -> None:
    names = [habit.name for habit in ALL]
    assert sorted(set(names)) == sorted(names)
    assert {*HARMED, *LOSES} <= set(names)
