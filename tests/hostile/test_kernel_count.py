"""Memory counted by the kernel: right answers pass, and no way to hide bytes pays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from autograder.checking.exercise import Exercise
from autograder.checking.values import AtMost
from autograder.exercises import key_of
from autograder.grading.course import hidden_cases as hidden
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader.resource_watch import Ending
from autograder.grading.sandbox.grader.student_process import Ended
from autograder.grading.sandbox.wire.wire_messages import ChildRequest
from autograder.grading.wall_kinds import Wall
from autograder.lessons.collection import COURSE
from autograder.lessons.mistakes import mistakes_of
from autograder.lessons.needed_code import needed_code
from autograder.lessons.source import Lesson, solutions
from autograder.lessons.variants import sources_above
from hostile.hidden_bytes import programs
from support.assignment import Assignment, open_assignment
from support.attacks.attack import HALF

pytestmark = pytest.mark.long(60)
LIMITS = Limits(cell_seconds=20, total_seconds=60, memory=2 << 30, processes=12, disk_bytes=256 << 20)
MARGIN = 4 << 20  # bytes between a limit and what right answers need
BEYOND = 9 << 20  # bytes beyond a limit where it is certain
WEIGHED = {
    lesson.name: [each for each in COURSE.exercises(lesson).values() if each.weighings] for lesson in COURSE.read()
}
EVERY_COMMIT = ("higher_order",)
NIGHTLY = pytest.mark.nightly(
    twin="tests/hostile/test_kernel_count.py::test_the_kernel_tells_right_answers_from_wasteful_ones"
)


@pytest.fixture(scope="module", params=[Wall.FULL, pytest.param(Wall.LANDLOCK, marks=NIGHTLY)])
def walled(
    request: pytest.FixtureRequest,
    lesson_source: Lesson,
    exercises: dict[str, Exercise],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp(request.param)
    with open_assignment(lesson_source, exercises, folder, LIMITS, ("train_epoch",), wall=request.param) as opened:
        yield opened


WASTEFUL = HALF["train_epoch"]
HIDDEN = dict(programs(WASTEFUL))


@pytest.mark.parametrize("way", HIDDEN)
def test_no_hidden_byte_pays_unseen(way: str, walled: Assignment) -> None:
    raw = walled.notebook({"train_epoch": HIDDEN[way]})
    raw["cells"] = raw["cells"][1:]  # the tests' own cell
    outcome, _ = walled.hand_in(raw)
    verdict = outcome.verdicts["train_epoch"]
    if outcome.notes:  # it took too long for the count, and a note says so
        return
    assert verdict.points <= walled.points_without({"train_epoch": WASTEFUL})["train_epoch"]
    assert verdict.finding is not None
    refused = ("differs.memory", "differs.counted_run", "raised.answer", "run.died")  # the disk is limited, too
    assert verdict.finding.got[0].id in refused, verdict.finding


def lesson(name: str) -> ParameterSet:
    """Return a lesson as an argument: those with few programs for each commit, others for the night."""
    return pytest.param(name, marks=[] if name in EVERY_COMMIT else NIGHTLY)


@pytest.mark.parametrize("lesson_name", [lesson(name) for name, found in WEIGHED.items() if found])
def test_the_kernel_tells_right_answers_from_wasteful_ones(
    lesson_name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (lesson,) = COURSE.read([lesson_name])
    exercises = COURSE.exercises(lesson)
    folder = tmp_path_factory.mktemp(lesson_name)
    with open_assignment(lesson, exercises, folder, LIMITS, tuple(exercises)) as opened:
        for exercise in WEIGHED[lesson_name]:
            for aspect, weighing in exercise.weighings.items():
                above = sources_above(lesson, exercise.name)
                programs = ["\n\n\n".join([*needed_code(above, "", each), each]) for each in solutions(exercise)]
                right = [weigh(opened, exercise, aspect, each, raises=False) for each in programs]
                assert max(right) <= weighing.most - MARGIN, (exercise.name, aspect, right)
                wasteful = wasteful_programs(exercise, aspect)
                assert any(is_above(opened, exercise, aspect, each) for each in wasteful), (exercise.name, aspect)


def weigh(opened: Assignment, exercise: Exercise, aspect: str, program: str, raises: bool = True) -> int:
    """Return the bytes that the kernel counts for a program, in a child of its own.

    Unless it `raises`, the program may end in no error: what it had not done yet would not count.
    """
    cells = [cell["source"] for cell in opened.notebook({exercise.name: program})["cells"]]
    with opened.engine.fork() as child:
        child.ask(ChildRequest.BEGIN, lesson=exercise.lesson, files={})
        for cell in cells:
            if not cell.startswith("from autograder import check"):
                child.ask(ChildRequest.CELL, source=cell)
        asked = {"exercise": exercise.name, "seed": hidden.seed_of("x" * 40, exercise, "large"), "weighed": aspect}
        reply = child.weigh(ChildRequest.OBSERVE, **asked)
        assert "runs" in reply, reply
        assert raises or not any(run.get("raised") for run in reply["runs"]), reply["runs"]
        assert reply["touched"] is not None
        return reply["touched"]


def is_above(opened: Assignment, exercise: Exercise, aspect: str, program: str) -> bool:
    """Return whether a program needs clearly more than the limit, or more than a child may have."""
    try:
        return weigh(opened, exercise, aspect, program) >= exercise.weighings[aspect].most + BEYOND
    except Ended as ended:
        return ended.why is Ending.MEMORY


def wasteful_programs(exercise: Exercise, aspect: str) -> list[str]:
    """Return the programs of mistakes that the meter in the child finds most wasteful, at most three."""
    mistakes, used = mistakes_of(exercise), dict[str, float]()
    for name, runs in key_of(exercise).expected.mistakes.items():
        found = [value for run in runs if isinstance(value := run.values.get(aspect), AtMost)]
        used[name] = max((each.used - each.limit for each in found), default=0)
    worst = sorted((name for name in used if used[name] > 0), key=lambda name: -used[name])[:3]
    return [inlined(mistakes.code(name), mistakes.path) for name in worst]


_RELATIVE = re.compile(r"^from (\.+)(\w+) import (?:\([^)]*\)|.*)$", re.M)


def inlined(source: str, file: Path) -> str:
    """Return the source of a file with modules of the package in place of their imports.

    A child has no mistakes.
    """

    def source_of(found: re.Match[str]) -> str:
        module = file.parents[len(found[1]) - 1] / f"{found[2]}.py"
        return inlined(module.read_text(encoding="utf-8").replace("from __future__ import annotations\n", ""), module)

    return _RELATIVE.sub(source_of, source)
