"""Attacks that THREATS.md does not call prevented.

A test that fails here shows that one of them is prevented by now: move it to the others, and mend the text.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.lessons.source import Lesson
from support.assignment import Assignment, open_assignment, points
from support.attacks.attack import HALF

LIMITS = Limits(cell_seconds=10, total_seconds=30, memory=1 << 30, processes=12, disk_bytes=64 << 20)

UNPREVENTED = {
    "raw memory by a pointer of ctypes: the code of the function that tries a learner's test": (
        "is_right",
        """
import ctypes
from autograder.checking.inputs import Lineup
class Address(ctypes.Union):
    _fields_ = (("address", ctypes.c_uint64), ("there", ctypes.POINTER(ctypes.c_uint64)))
def code_of(function):
    place = Address()
    place.address = object.__hash__(function) * 16 % 2**64 + 48
    return place.there
nothing = lambda self, test: ([True], {"catches_old_gradient": True, "catches_missing_last": True})
code_of(Lineup.tried)[0] = code_of(nothing)[0]
"""
        + HALF["is_right"],
    )
}


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("unprevented"), LIMITS) as opened:
        yield opened


@pytest.mark.parametrize("name", UNPREVENTED)
def test_it_pays_and_is_shown(name: str, assignment: Assignment) -> None:
    exercise, answer = UNPREVENTED[name]
    outcome, _ = assignment.hand_in(assignment.notebook({**HALF, exercise: answer}))
    assert (outcome.flags, outcome.notes, outcome.ended) == ([], [], None)
    assert "ctypes" in {place.parameters["what"] for place in outcome.places}
    assert points(outcome)[exercise] > assignment.points_without(HALF).get(exercise, 0)


def test_a_later_cell_shows_hidden_inputs(assignment: Assignment) -> None:
    """An answer's notes of its cases are on the student's page of feedback."""
    noting = HALF["accumulate_uneven"] + "    SEEN.append([x.tolist() for x, _ in batches])\n"
    raw = assignment.notebook({**HALF, "accumulate_uneven": noting}, first="SEEN = []", last="print(SEEN)")
    outcome, notebook = assignment.hand_in(raw)
    assert (outcome.flags, outcome.notes) == ([], [])
    expected = assignment.judge.answers.expected["accumulate_uneven"]
    hidden = assignment.judge.answers.exercises["accumulate_uneven"].draw(expected.seed)
    assert str([x.tolist() for x, _ in hidden[0].batches]) in notebook.cells[-1].outputs[0].text


def test_what_a_class_in_a_foreign_container_gets_is_put_back_for_a_check(assignment: Assignment) -> None:
    first = (
        "from collections import namedtuple\nHolder = namedtuple('Holder', 'kept')\n"
        "Holder(torch.Tensor).kept.backward = lambda *args: None"
    )
    outcome, _ = assignment.hand_in(assignment.notebook(HALF, first=first))
    assert [place for place in outcome.places if "kept" in str(place.parameters["what"])] == []
    assert (outcome.flags, points(outcome)) == ([], assignment.points_without(HALF))
