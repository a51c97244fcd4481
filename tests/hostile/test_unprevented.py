"""Attacks that pay and that nobody is told of: what THREATS.md calls neither prevented nor detected.

A test that fails here shows that one of them is prevented by now: move it to the others, and mend the text.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attacks import HALF
from host import Host, open_host, points

from autograder.authoring.source import Lesson
from autograder.exercise import Exercise
from autograder.grading.isolated.isolation import Limits

LIMITS = Limits(cell_seconds=10, total_seconds=30, memory=1 << 30, processes=12, disk_bytes=64 << 20)

_SET_RUNS = """
    run = torch.autograd._engine_run_backward.func
    count = next(cell.cell_contents for cell in run.__closure__ if hasattr(cell.cell_contents, "times"))
"""
_PEAK = """
def train_epoch(*case):
    result = _train(*case)
    {}
    return result
"""
_TRAIN = HALF["train_epoch"].replace("def train_epoch", "def _train")

UNPREVENTED = {
    "backward passes on a tensor of its own": (
        "accumulate_uneven",
        HALF["accumulate_uneven"]
        + "    for _ in batches[1:]:\n        torch.ones((), requires_grad=True).backward()\n",
    ),
    "the count in the closure around torch's engine": (
        "accumulate_uneven",
        HALF["accumulate_uneven"] + _SET_RUNS + "    count.times = len(batches)\n",
    ),
    "the meter of the dispatch mode": (
        "train_epoch",
        _TRAIN
        + _PEAK.format(
            "from torch.utils._python_dispatch import _get_current_dispatch_mode as mode\n"
            "    if mode(): mode().live.peak = 0"
        ),
    ),
    "the meter in the registry of finalizers": (
        "train_epoch",
        _TRAIN
        + _PEAK.format(
            "import weakref\n"
            "    for entry in list(weakref.finalize._registry.values()):\n"
            "        if hasattr(getattr(entry.func, '__self__', None), 'peak'): entry.func.__self__.peak = 0"
        ).replace("result = _train(*case)", "kept = torch.ones(1).double(); result = _train(*case)"),
    ),
    "raw memory by a pointer of ctypes": (
        "accumulate_uneven",
        """
import ctypes
class Address(ctypes.Union):
    _fields_ = (("address", ctypes.c_uint64), ("there", ctypes.POINTER(ctypes.c_int32)))
"""
        + HALF["accumulate_uneven"]
        + _SET_RUNS
        + """
    values = Address()
    number = count.times = int('1' * 7)
    values.address = object.__hash__(number) * 16 % 2**64 + 24
    values.there[0] = len(batches)
""",
    ),
}


@pytest.fixture(scope="module")
def host(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    with open_host(lesson_source, exercises, tmp_path_factory.mktemp("unprevented"), LIMITS) as opened:
        yield opened


@pytest.mark.parametrize("name", UNPREVENTED)
def test_it_pays_and_is_not_seen(name: str, host: Host) -> None:
    exercise, answer = UNPREVENTED[name]
    outcome, _ = host.hand_in(host.notebook({**HALF, exercise: answer}))
    assert (outcome.flags, outcome.notes, outcome.ended) == ([], [], None)
    assert points(outcome)[exercise] > host.points_without(HALF)[exercise]


def test_a_later_cell_shows_hidden_inputs(host: Host) -> None:
    """What an answer has noted of its cases is on the student's page of feedback."""
    noting = HALF["accumulate_uneven"] + "    SEEN.append([x.tolist() for x, _ in batches])\n"
    raw = host.notebook({**HALF, "accumulate_uneven": noting}, first="SEEN = []", last="print(SEEN)")
    outcome, notebook = host.hand_in(raw)
    assert (outcome.flags, outcome.notes) == ([], [])
    expected = host.judge.answers.expected["accumulate_uneven"]
    hidden = host.judge.answers.exercises["accumulate_uneven"].draw(expected.seed)
    assert str([x.tolist() for x, _ in hidden[0].batches]) in notebook.cells[-1].outputs[0].text
