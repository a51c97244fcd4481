"""Attacks on the wall of Landlock and seccomp, which needs no namespaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.authoring.source import Lesson
from autograder.checking.exercise import Exercise
from autograder.grading.limits import LANDLOCK, Limits
from support import attacks
from support.assignment import Assignment, open_assignment
from support.attacks.attack import Attack
from support.attacks.defence import assert_no_gain

pytestmark = pytest.mark.long

LIMITS = Limits(cell_seconds=2, total_seconds=8, memory=1 << 30, processes=12, disk_bytes=64 << 20)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp("second")
    with open_assignment(lesson_source, exercises, folder, LIMITS, wall=LANDLOCK) as opened:
        yield opened


@pytest.mark.parametrize("attack", attacks.ALL, ids=lambda attack: attack.name)
def test_an_attack_does_not_pay(attack: Attack, assignment: Assignment) -> None:
    assert_no_gain(attack, assignment)
