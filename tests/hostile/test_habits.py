"""Habits of honest students beside right answers: the points of their own `check`, and nobody is accused."""

from __future__ import annotations

import copy
import json
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

from autograder.authoring.build import COURSE
from autograder.authoring.source import Lesson
from autograder.checking.exercise import Exercise
from autograder.checking.observe import observe
from autograder.grading.limits import Limits
from autograder.grading.sandbox.engine import Engine
from autograder.grading.submission.grader import Grader, Job, RestartingEngine, Turns
from autograder.grading.submission.notebook_run import Outcome
from autograder.grading.submission.sanitize import sanitize
from autograder.messages.interface import message
from support import habits
from support.assignment import EXERCISES, Assignment, code_cell, open_assignment, points
from support.course import Course
from support.habits import Habit
from support.submissions import Submission, read

LIMITS = Limits(cell_seconds=60, total_seconds=200, memory=2 << 30)
LOSES = ("everything of torch",)  # `range` is torch's then: the answers fail wherever they are run
TOGETHER = {
    "settings": habits.SETTINGS,
    "threads": habits.THREADS,
    "looking": habits.LOOKING,
    "display": habits.DISPLAY,
    "magics": habits.MAGICS,
}


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("honest"), LIMITS) as opened:
        yield opened


def _notebook(assignment: Assignment, habit: Habit) -> dict[str, Any]:
    """The solved assignment with a habit in it."""
    answer = f"{assignment.solved['accumulate_equal']}\n{habit.answer}"
    raw = assignment.notebook({**assignment.solved, "accumulate_equal": answer}, first=habit.cell)
    raw["cells"] = [cell for cell in raw["cells"] if not _is_picture(cell)]
    imports = next(cell for cell in raw["cells"] if cell["source"].startswith("import torch"))
    imports["source"] = f"{habit.top}\n{imports['source']}"
    return raw


def _is_picture(cell: dict[str, Any]) -> bool:
    """A cell of the lesson's own that shows something and takes time."""
    return cell["source"].startswith("from autograder") and "start(" not in cell["source"] and not cell["metadata"]


@pytest.fixture(scope="module")
def local(assignment: Assignment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    """Points by habit and exercise from the learner's own `check`."""
    cells = {habit.name: [cell["source"] for cell in _notebook(assignment, habit)["cells"]] for habit in habits.ALL}
    environment = {**os.environ, "PIP_NO_INDEX": "1", "AUTOGRADER_HOME": str(tmp_path_factory.mktemp("home"))}
    done = subprocess.run(
        [sys.executable, Path(habits.__file__).with_name("learner_points.py")],
        input=json.dumps(cells),
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def _full(assignment: Assignment) -> dict[str, float]:
    return {name: assignment.judge.answers.exercises[name].points for name in EXERCISES}


@pytest.mark.parametrize("habit", habits.ALL, ids=lambda habit: habit.name)
def test_habit(habit: Habit, assignment: Assignment, local: dict[str, dict[str, float]]) -> None:
    outcome, _ = assignment.hand_in(_notebook(assignment, habit))
    assert (outcome.flags, outcome.ended) == ([], None)
    assert {name: verdict.points for name, verdict in outcome.verdicts.items()} == local[habit.name]
    assert (local[habit.name] == _full(assignment)) == (habit.name not in LOSES)
    assert [habit.refused in note for note in outcome.notes] == [True] * bool(habit.refused)


def test_nbgrader_autograde(lesson_source: Lesson, tmp_path: Path, assignment: Assignment) -> None:
    """All habits of a kind in one notebook, through nbgrader's own command."""
    course = Course.make(tmp_path / "calculus", lesson_source)
    for student, together in TOGETHER.items():
        notebook = Submission(student, "en", assignment.solved).notebook(read(course.released("en")))
        first = next(number for number, cell in enumerate(notebook.cells) if cell.source.startswith("import torch"))
        notebook.cells[first].source = "\n".join([*(habit.top for habit in together), notebook.cells[first].source])
        own = [code_cell(f"habit-{number}", habit.cell) for number, habit in enumerate(together)]
        notebook.cells[first + 1 : first + 1] = [nbformat.from_dict(cell) for cell in own]
        course.hand_in(student, notebook)
    log = course.nbgrader("autograde", course.name)
    assert "a person has to look" not in log
    with course.gradebook() as gradebook:
        for student in TOGETHER:
            grades = gradebook.find_submission(course.name, student).notebooks[0].grades
            checks = {grade.name: grade for grade in grades if grade.name.startswith("check-")}
            assert {name: grade.auto_score for name, grade in checks.items()} == {
                name: grade.max_score for name, grade in checks.items()
            }, student
            assert not any(grade.needs_manual_grade for grade in checks.values()), student


# ------------------------------------------------------------------------------------------------ what is no tampering


def test_keyboard_interrupt_in_an_answer_is_its_own_mistake(assignment: Assignment) -> None:
    answer = "def accumulate_equal(model, batches):\n    raise KeyboardInterrupt"
    outcome, _ = assignment.hand_in(assignment.notebook({**assignment.solved, "accumulate_equal": answer}))
    assert (outcome.flags, outcome.ended) == ([], None)
    verdict = outcome.verdicts["accumulate_equal"]
    assert verdict.state == "not yet"
    assert "KeyboardInterrupt" in verdict.text("en")
    assert points(outcome) == {name: most for name, most in _full(assignment).items() if name != "accumulate_equal"}


def test_a_compiled_answer_needs_no_compiler(assignment: Assignment) -> None:
    answer = f"@torch.compile\n{assignment.solved['accumulate_equal'].lstrip()}"
    outcome, _ = assignment.hand_in(assignment.notebook({**assignment.solved, "accumulate_equal": answer}))
    assert (outcome.flags, points(outcome)) == ([], _full(assignment))


def test_copies_of_a_check_and_split_answers_are_no_reason_to_look(assignment: Assignment) -> None:
    raw = assignment.notebook(assignment.solved)
    ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in raw["cells"]]
    answer, check = ids.index("answer-train_epoch"), ids.index("check-train_epoch")
    half = {**copy.deepcopy(raw["cells"][answer]), "id": "half", "source": "lines_above = 1"}
    raw["cells"][check + 1 : check + 1] = [{**raw["cells"][check], "id": "below"}]
    raw["cells"][answer:answer] = [{**raw["cells"][check], "id": "above"}, half]
    assert sanitize(raw, assignment.released, None).repeated == []
    outcome, _ = assignment.hand_in(raw)
    assert (outcome.flags, points(outcome)) == ([], _full(assignment))


def test_copies_that_differ_in_what_is_graded_are_told(assignment: Assignment) -> None:
    raw = assignment.notebook(assignment.solved)
    check = next(cell for cell in raw["cells"] if cell["source"].endswith('check("train_epoch")'))
    raw["cells"].insert(0, {**check, "id": "other", "source": "100"})
    assert sanitize(raw, assignment.released, None).repeated == ["check-train_epoch"]


def test_a_warning_of_the_probe_is_nobodys_fault(tmp_path: Path) -> None:
    """A known mistake of lesson 01: the probe reads `.grad` of a result, which warns."""
    (lesson,) = COURSE.read(["leaf_tensors"])
    exercises = COURSE.exercises(lesson)
    answer = """
def leaf_without_gradient():
    t = 2 * torch.ones(3, requires_grad=True)
    return t, lambda t: t.sum()
"""
    with open_assignment(lesson, exercises, tmp_path, LIMITS) as assignment:
        filled = Submission("x", "en", {"leaf_without_gradient": answer}).notebook(nbformat.from_dict(assignment.blank))
        outcome, _ = assignment.hand_in(json.loads(json.dumps(filled)))
    assert outcome.verdicts["leaf_without_gradient"].mistake is not None
    assert (outcome.flags, outcome.ended) == ([], None)


# -------------------------------------------------------------------------------------------- processors that are busy


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
    assert points(outcome) == _full(assignment)


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
    assert points(outcome) == _full(assignment)


def test_who_is_alone_is_alone() -> None:
    turns, running, most, log = Turns(), [], [], []

    def shared(number: int) -> None:
        with turns.shared():
            running.append(number)
            most.append(len(running))
            time.sleep(0.02)
            running.remove(number)

    def alone() -> None:
        with turns.alone():
            log.append(list(running))
            time.sleep(0.02)
            log.append(list(running))

    threads = [threading.Thread(target=shared, args=(number,)) for number in range(8)]
    threads[4:4] = [threading.Thread(target=alone) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) > 1
    assert log == [[]] * 4


@pytest.mark.parametrize(("waited", "tries"), [(0.9, 2), (0.1, 1)])
def test_what_lacked_time_is_tried_again_once(waited: float, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [Outcome(late=True, seconds=1, waited=waited) for _ in range(3)]
    left = iter(outcomes)
    with RestartingEngine(Engine) as standby:
        bench = Grader(standby)
        monkeypatch.setattr(bench, "_run", lambda job, notebook, beside: next(left))
        done = bench.run(Job(Path(), "x", {}, {}), nbformat.v4.new_notebook(), {})
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
