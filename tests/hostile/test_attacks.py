"""Submissions that attack the grader: nothing is gained, nobody harmed, tampering named.

Each is run as `autograder grade` runs it, in a child with small limits. What a trick must not do is looked for where it
would show: in the scores beside those of the same submission without it, in the outputs, among the processes of this
machine, in a folder of it, and in the points of an honest submission that is graded after all attacks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.lessons.source import Lesson
from support import attacks
from support.assignment import EXERCISES, Assignment, code_cell, open_assignment, points
from support.attacks.attack import HALF, Attack
from support.attacks.defence import assert_honest_ones_are_graded, assert_no_gain

pytestmark = pytest.mark.long(55)

LIMITS = Limits(cell_seconds=1, total_seconds=8, memory=1 << 30, processes=12, disk_bytes=64 << 20)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("hostile"), LIMITS) as opened:
        yield opened
        assert_honest_ones_are_graded(opened)


@pytest.mark.parametrize("attack", attacks.ALL, ids=lambda attack: attack.name)
def test_an_attack_does_not_pay(attack: Attack, assignment: Assignment) -> None:
    assert_no_gain(attack, assignment)


def test_who_ends_right_after_a_check_keeps_its_points(assignment: Assignment) -> None:
    """The child shows that nothing was replaced before it runs the cells after a check."""
    raw = assignment.notebook({**HALF, **{name: assignment.solved[name] for name in EXERCISES[:2]}})
    ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in raw["cells"]]
    after = ids.index(f"check-{EXERCISES[1]}") + 1
    end = code_cell("end", "import os\nos._exit(0)")
    raw["cells"][after:after] = [end, code_cell("after", "x = 1")]
    for _ in range(5):
        outcome, _ = assignment.hand_in(copy.deepcopy(raw))
        assert (outcome.ended, outcome.flags) == ("died", [])
        assert points(outcome) == {name: assignment.judge.answers.exercises[name].points for name in EXERCISES[:2]}
