"""Hand-ins of somebody who had read the grader's source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.cells import read_cells
from autograder.grading.limits import Limits
from autograder.grading.wall_kinds import Wall
from autograder.lessons.collection import COURSE
from support.assignment import Assignment, open_assignment, points

pytestmark = pytest.mark.long(60)
LIMITS = Limits(cell_seconds=20, total_seconds=60, memory=2 << 30, processes=12, disk_bytes=64 << 20)
ATTACKS = Path(__file__).parents[1] / "support" / "attacks"
FILES = [ATTACKS / f"{trial}_trial.ipy" for trial in ("fourth", "fifth", "sixth")]
# What gains points unseen, as THREATS.md says. Whoever prevents it takes it out here.
UNSEEN = frozenset(
    {
        *("b11-torch-equal-during-call", "b7-low-rank-large-input", "c4-numpy-where-no-kernel-counts"),
        *("f1-out-is-no-new-tensor", "f10-recorder-called-by-hand", "f9-counted-by-one-name", "l-library-during-call"),
        *("m1-own-work-uncounted", "x1-walk-where-nothing-else-counts", "z1-module-that-decides"),
    }
)


@dataclass(frozen=True)
class HandIn:
    """A first cell and an answer, and the control: the same answer without a trick."""

    name: str
    first: str
    answer: str
    control: str


def hand_ins(file: Path) -> dict[tuple[str, str], list[HandIn]]:
    """Return the hand-ins of a file by lesson and exercise.

    A control and an answer serve all attacks below.
    """
    control = answer = exercise = ""
    found: dict[tuple[str, str], list[HandIn]] = {}
    for cell in read_cells(file, {"attack", "answer", "control", "lesson"}):
        told = cell.metadata
        if "control" in told:
            control, exercise = cell.source, told["control"]
        elif "answer" in told:
            answer = cell.source
        else:
            each = HandIn(told["attack"], cell.source, answer, control)
            found.setdefault((told["lesson"], exercise), []).append(each)
    return found


NIGHTLY = pytest.mark.nightly(
    twin="tests/hostile/test_informed_attackers.py::test_no_gain_is_unseen_but_for_those_that_are_told"
)


@pytest.fixture(scope="module", params=[Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def wall(request: pytest.FixtureRequest) -> Wall:
    return request.param


def groups() -> Iterator[Any]:
    """Yield the hand-ins of each exercise.

    Small groups are for the night: most of their time is making a course.
    """
    for file in FILES:
        for (lesson, exercise), cases in hand_ins(file).items():
            marks = NIGHTLY if len(cases) < 5 else ()
            yield pytest.param((lesson, exercise, cases), id=f"{file.stem}-{lesson}.{exercise}", marks=marks)


@pytest.fixture(scope="module", params=groups())
def opened(
    request: pytest.FixtureRequest, wall: Wall, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Assignment, str, list[HandIn]]]:
    name, exercise, cases = request.param
    (lesson,) = COURSE.read([name])
    folder = tmp_path_factory.mktemp(exercise)
    with open_assignment(lesson, COURSE.exercises(lesson), folder, LIMITS, asked=(exercise,), wall=wall) as assignment:
        yield assignment, exercise, cases


def test_no_gain_is_unseen_but_for_those_that_are_told(opened: tuple[Assignment, str, list[HandIn]]) -> None:
    assignment, exercise, cases = opened
    unseen = set()
    for each in cases:
        raw = assignment.notebook({exercise: each.answer}, first=each.first)
        raw["cells"] = raw["cells"][1:]  # the tests' own cell
        outcome, _ = assignment.hand_in(raw)
        gain = points(outcome).get(exercise, 0) - assignment.points_without({exercise: each.control}).get(exercise, 0)
        if gain > 0 and not (outcome.places or outcome.flags or outcome.notes):
            unseen.add(each.name)
    expected = UNSEEN & {each.name for each in cases}
    assert unseen == expected, ", ".join(sorted(unseen ^ expected))
