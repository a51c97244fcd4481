"""Busy processors: waiting is not counted, and a lack of time is made good."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.checking.exercise import Exercise
from autograder.checking.observe import observe
from autograder.grading.gradebook.released_notebooks import ReleasedNotebook
from autograder.grading.limits import Limits
from autograder.grading.shared_lock import SharedLock
from autograder.grading.submission.grader import Grader, Job
from autograder.grading.submission.notebook_run import Outcome
from autograder.grading.submission.sanitize import Sanitized
from autograder.grading.wall_kinds import Wall
from autograder.lessons.source import Lesson
from autograder.messages.learners import message
from support.assignment import Assignment, open_assignment, points

pytestmark = pytest.mark.long(15)

LIMITS = Limits(cell_seconds=60, total_seconds=200, memory=2 << 30)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("honest"), LIMITS) as opened:
        yield opened


@contextmanager
def _crowded(count: int) -> Iterator[None]:
    """Let `count` other processes compete for the one core that this thread, and what it starts, has meanwhile."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    hogs = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
        os.sched_setaffinity(0, cores)


_WORK = "import time\nwhile time.process_time() - {start} < {seconds}:\n    pass\n"


def test_waiting_for_a_processor_is_not_counted(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path: Path
) -> None:
    """0.8 s of work in a cell that may take 1 s, beside two processes that take two thirds of the core."""
    with (
        open_assignment(lesson_source, exercises, tmp_path, Limits(cell_seconds=1, total_seconds=100)) as assignment,
        _crowded(2),
    ):
        cell = f"import time\nbegan = time.process_time()\n{_WORK.format(start='began', seconds=0.8)}done = True"
        outcome, _ = assignment.hand_in(assignment.notebook(assignment.solved, first=cell, last="assert done"))
    assert outcome.waited > 0
    assert (outcome.flags, outcome.ended, outcome.lacked_time) == ([], None, False)
    assert points(outcome) == assignment.all_points()


def test_who_lacks_time_on_a_busy_machine_is_known(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path: Path
) -> None:
    limits = Limits(cell_seconds=0.5, total_seconds=100)
    with open_assignment(lesson_source, exercises, tmp_path, limits) as assignment, _crowded(8):
        assert assignment.hand_in(assignment.notebook({}, first="while True:\n    pass"))[0].lacked_time
        assert not assignment.hand_in(assignment.notebook({}))[0].lacked_time


def test_no_more_cores_than_given(assignment: Assignment) -> None:
    """A hostile neighbour's processes stay where they are; an honest one that asks is not stopped."""
    ask = "import os\nos.sched_setaffinity(0, range(os.cpu_count()))\nprint(sorted(os.sched_getaffinity(0)))"
    with _crowded(0):
        (core,) = os.sched_getaffinity(0)
        outcome, notebook = assignment.hand_in(assignment.notebook(assignment.solved, first=ask))
    shown = next(cell for cell in notebook.cells if cell.id == "first").outputs[0].text
    assert shown == f"[{core}]\n"
    assert points(outcome) == assignment.all_points()


def test_who_is_alone_is_alone() -> None:
    turns, running, log = SharedLock(), [], []

    def shared(number: int) -> None:
        with turns.shared():
            running.append(number)
            time.sleep(0.02)
            running.remove(number)

    def alone() -> None:
        with turns.exclusive():
            log.append(list(running))
            time.sleep(0.02)
            log.append(list(running))

    threads = [threading.Thread(target=shared, args=(number,)) for number in range(8)]
    threads[4:4] = [threading.Thread(target=alone) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log == [[]] * 4
    with turns.shared():
        together = threading.Thread(target=shared, args=(8,))
        together.start()
        together.join()  # it does not wait for us


@pytest.mark.parametrize(("waited", "tries"), [(0.9, 2), (0.1, 1)])
def test_what_lacked_time_is_tried_again_once(waited: float, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [Outcome(late=True, seconds=1, waited=waited) for _ in range(3)]
    left = iter(outcomes)
    grader = Grader(Limits())
    monkeypatch.setattr(grader, "_run", lambda *_: next(left))
    clean = Sanitized(nbformat.v4.new_notebook(), ReleasedNotebook({}, None))
    done = grader.run(Job(Path(), "x", {}, {}), clean, {})
    assert done is outcomes[tries - 1]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True:\n        print('x' * 1000)", "busy printing"),
        ("kept = bytearray(b'x') * 1_200_000_000\n    while True:\n        kept[0] = 1", "GB of memory"),
        ("while True:\n        pass", "an endless loop"),
    ],
)
def test_what_took_the_time_is_named(body: str, said: str, exercises: dict[str, Exercise]) -> None:
    names: dict[str, Any] = {}
    exec(f"def accumulate_equal(*args):\n    {body}", names)
    exercise = replace(exercises["accumulate_equal"], seconds=0.5)
    raised = observe(exercise, names["accumulate_equal"], "public")[0].raised
    assert raised is not None
    assert said in message(raised.id, **raised.parameters).read("en")


PASSES_WITHOUT_END = """\
def accumulate_equal(model, batches):
    loss = sum(torch.nn.functional.mse_loss(model(x), y) for x, y in batches)
    again = loss * 2
    loss.register_hook(lambda g: torch.autograd.grad(again, loss, g, retain_graph=True)[0])
    loss.backward()
"""


NIGHTLY = pytest.mark.nightly(
    twin="tests/hostile/test_busy_processors.py::test_passes_inside_passes_cost_no_other_answer"
)


@pytest.mark.parametrize("wall", [Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def test_passes_inside_passes_cost_no_other_answer(
    wall: Wall, lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path: Path
) -> None:
    with open_assignment(lesson_source, exercises, tmp_path, LIMITS, wall=wall) as assignment:
        answers = {**assignment.solved, "accumulate_equal": PASSES_WITHOUT_END}
        outcome, _ = assignment.hand_in(assignment.notebook(answers))
    finding = outcome.verdicts["accumulate_equal"].finding
    assert finding is not None
    assert [note.id for note in finding.got] == ["raised.passes"]
    assert (outcome.ended, outcome.lacked_time) == (None, False)
    others = {name: worth for name, worth in assignment.all_points().items() if name != "accumulate_equal"}
    assert points(outcome) == others
