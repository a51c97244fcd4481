"""Attacks of the second trial, on both walls: nothing is gained unseen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.grading.wall_kinds import Wall
from autograder.lessons.source import Lesson
from autograder.messages.reasons import describe_reason
from support.assignment import Assignment, open_assignment, points
from support.attacks.attack import HALF, Attack
from support.attacks.second_trial import SECOND

pytestmark = pytest.mark.long(15)

LIMITS = Limits(cell_seconds=5, total_seconds=20, memory=1 << 30, processes=12, disk_bytes=64 << 20)


NIGHTLY = pytest.mark.nightly(twin="tests/hostile/test_second_trial.py::test_nothing_is_gained_unseen")


@pytest.fixture(scope="module", params=[Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def assignment(
    request: pytest.FixtureRequest,
    lesson_source: Lesson,
    exercises: dict[str, Exercise],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp("second")
    with open_assignment(lesson_source, exercises, folder, LIMITS, wall=request.param) as opened:
        yield opened


@pytest.mark.parametrize("attack", SECOND, ids=lambda attack: attack.name)
def test_nothing_is_gained_unseen(attack: Attack, assignment: Assignment) -> None:
    raw = assignment.notebook({**HALF, **attack.answers}, attack.first, attack.last)
    raw["cells"] = raw["cells"][1:]  # the tests' own cell is conspicuous itself
    outcome, _ = assignment.hand_in(raw)
    got, allowed = points(outcome), assignment.points_without(HALF)
    gained = {name for name in got if got[name] > allowed.get(name, 0)}
    flags = " ".join(describe_reason(each).en for each in outcome.flags)
    places = " ".join(describe_reason(each).en for each in outcome.places)
    assert (attack.flagged in flags, attack.seen in places) == (True, True), (flags, places)
    assert not gained or flags or places
    assert any(attack.noted in note for note in outcome.notes) or not attack.noted
