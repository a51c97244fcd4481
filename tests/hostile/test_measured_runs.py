"""Nothing is gained by being lean in the measured run alone, or by hiding work from what counts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from autograder import exercises
from autograder.checking.judge import judge
from autograder.checking.observe import observe
from autograder.checking.verdict import AspectState, Verdict
from autograder.grading.limits import Limits
from autograder.grading.wall_kinds import Wall
from autograder.lessons.collection import COURSE
from support.assignment import Assignment, open_assignment
from support.attacks.measured_runs import HIDDEN, KNOWN, Lean
from support.exercises import public_key

ATTACKS = [*KNOWN, *HIDDEN]
LESSONS = sorted({attack.lesson for attack in ATTACKS})
LIMITS = Limits(cell_seconds=20, total_seconds=60, memory=2 << 30, processes=12, disk_bytes=256 << 20)


def gained(attack: Lean, verdict: Verdict) -> list[str]:
    """Return the aspects of an attack that are right though it must not get them."""
    states = {aspect.name: aspect.state for aspect in verdict.aspects}
    return [name for name in attack.aspects if states[name] is AspectState.RIGHT]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_aspect_is_gained(attack: Lean) -> None:
    exercise, key = exercises.find(attack.exercise, attack.lesson), public_key(attack.exercise, attack.lesson)
    namespace = {"__name__": "__main__", "torch": torch}
    exec(attack.answer, namespace)
    try:
        runs = observe(exercise, namespace[exercise.asks], key.seed)
    finally:
        if "LIBRARY" in namespace:
            namespace["LIBRARY"]._destroy()  # type: ignore[attr-defined]
    verdict = judge(exercise, runs, key, lambda: None)
    assert gained(attack, verdict) == []
    states = {aspect.name: aspect.state for aspect in verdict.aspects}
    assert [name for name in attack.kept if states[name] is not AspectState.RIGHT] == []


@pytest.fixture(scope="module", params=[Wall.FULL, Wall.LANDLOCK])
def wall(request: pytest.FixtureRequest) -> Wall:
    return request.param


@pytest.fixture(scope="module", params=LESSONS)
def opened(
    request: pytest.FixtureRequest, wall: Wall, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Assignment, list[Lean]]]:
    (lesson,) = COURSE.read([request.param])
    attacks = [each for each in ATTACKS if each.lesson == lesson.name]
    asked = tuple({each.exercise for each in attacks})
    folder = tmp_path_factory.mktemp(lesson.name)
    with open_assignment(lesson, COURSE.exercises(lesson), folder, LIMITS, asked, wall) as assignment:
        yield assignment, attacks


@pytest.mark.nightly(twin="tests/hostile/test_measured_runs.py::test_no_aspect_is_gained")
def test_no_aspect_is_gained_in_grading(opened: tuple[Assignment, list[Lean]]) -> None:
    assignment, attacks = opened
    for attack in attacks:
        raw = assignment.notebook({attack.exercise: attack.answer})
        raw["cells"] = raw["cells"][1:]  # the tests' own cell
        outcome, _ = assignment.hand_in(raw)
        assert gained(attack, outcome.verdicts[attack.exercise]) == [], attack.name
