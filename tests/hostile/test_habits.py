"""Habits of honest students beside right answers, which cost no points."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from _pytest.mark import ParameterSet

from autograder.cards.shown_verdict import ShownVerdict
from autograder.checking.exercise import Exercise
from autograder.grading.limits import Limits
from autograder.lessons.collection import COURSE
from autograder.lessons.source import Lesson
from hostile.habits import ALL, HARMED, KINDS, LOSES
from hostile.habits.habit import Habit
from hostile.habits.notebook import Points, learners_points, notebook
from support.assignment import Assignment, code_cell, open_assignment, points
from support.course import Course, forked_fork_servers
from support.submissions import Submission, read

pytestmark = pytest.mark.long(15)

LIMITS = Limits(cell_seconds=60, total_seconds=200, memory=2 << 30)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    folder = tmp_path_factory.mktemp("honest")
    with forked_fork_servers(), open_assignment(lesson_source, exercises, folder, LIMITS) as opened:
        yield opened


TOGETHER = {
    kind: [habit for habit in KINDS[kind] if habit.seen == "experience"]
    for kind in ("settings", "threads", "looking", "display", "magics")
}
NIGHTLY = pytest.mark.nightly(twin="tests/hostile/test_public_habits.py::test_habits_of_a_kind_cost_nothing")


def _case(habit: Habit) -> ParameterSet:
    """Habits that cost nothing are graded together at every commit, and one by one at night."""
    harmed = habit.name in HARMED
    marks = [pytest.mark.xfail(strict=True, reason=HARMED[habit.name])] if harmed else []
    alone = not harmed and habit.name not in LOSES
    return pytest.param(habit, id=habit.name, marks=[*marks, NIGHTLY] if alone else marks)


@pytest.fixture(scope="module")
def local(request: pytest.FixtureRequest, assignment: Assignment, tmp_path_factory: pytest.TempPathFactory) -> Points:
    """Points by habit and exercise from the learner's own `check`, for the habits that are asked for."""
    cases = [vars(item).get("callspec") for item in request.session.items]
    asked = [each for case in cases if case and isinstance(each := case.params.get("habit"), Habit)]
    notebooks = {habit.name: notebook(assignment, [habit]) for habit in asked}
    return learners_points(notebooks, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("habit", [_case(habit) for habit in ALL])
def test_a_habit_costs_nothing(habit: Habit, assignment: Assignment, local: Points) -> None:
    outcome, _ = assignment.hand_in(notebook(assignment, [habit]))
    assert (outcome.flags, outcome.ended) == ([], None)
    assert points(outcome) == {name: most for name, most in local[habit.name].items() if most}
    assert (local[habit.name] == assignment.all_points()) == (habit.name not in LOSES)
    notes = [note for note in outcome.notes if "is not installed here" not in note]
    assert [habit.refused in note for note in notes] == [True] * bool(habit.refused)


@pytest.mark.nightly(twin="tests/hostile/test_habits.py::test_a_habit_costs_nothing")
def test_habits_cost_nothing_in_nbgrader_autograde(
    lesson_source: Lesson, tmp_path: Path, assignment: Assignment
) -> None:
    """All habits of a kind in one notebook, through nbgrader's own command."""
    course = Course.make(tmp_path / "calculus", lesson_source)
    for student, together in TOGETHER.items():
        handed_in = Submission(student, "en", assignment.solved).notebook(read(course.released("en")))
        first = next(number for number, cell in enumerate(handed_in.cells) if cell.source.startswith("import torch"))
        handed_in.cells[first].source = "\n".join([*(habit.top for habit in together), handed_in.cells[first].source])
        own = [code_cell(f"habit-{number}", habit.cell) for number, habit in enumerate(together)]
        handed_in.cells[first + 1 : first + 1] = [nbformat.from_dict(cell) for cell in own]
        course.hand_in(student, handed_in)
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


def test_keyboard_interrupt_in_an_answer_is_its_own_mistake(assignment: Assignment) -> None:
    answer = "def accumulate_equal(model, batches):\n    raise KeyboardInterrupt"
    outcome, _ = assignment.hand_in(assignment.notebook({**assignment.solved, "accumulate_equal": answer}))
    assert (outcome.flags, outcome.ended) == ([], None)
    verdict = outcome.verdicts["accumulate_equal"]
    assert verdict.state == "not yet"
    assert "KeyboardInterrupt" in ShownVerdict.of(verdict).text("en")
    assert points(outcome) == {
        name: most for name, most in assignment.all_points().items() if name != "accumulate_equal"
    }


def test_a_compiled_answer_needs_no_compiler(assignment: Assignment) -> None:
    answer = f"@torch.compile\n{assignment.solved['accumulate_equal'].lstrip()}"
    outcome, _ = assignment.hand_in(assignment.notebook({**assignment.solved, "accumulate_equal": answer}))
    assert (outcome.flags, points(outcome)) == ([], assignment.all_points())


def test_copies_of_a_check_and_split_answers_are_no_reason_to_look(assignment: Assignment) -> None:
    raw = assignment.notebook(assignment.solved)
    ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in raw["cells"]]
    answer, check = ids.index("answer-train_epoch"), ids.index("check-train_epoch")
    half = {**copy.deepcopy(raw["cells"][answer]), "id": "half", "source": "lines_above = 1"}
    raw["cells"][check + 1 : check + 1] = [{**raw["cells"][check], "id": "below"}]
    raw["cells"][answer:answer] = [{**raw["cells"][check], "id": "above"}, half]
    assert assignment.sanitized(raw).repeated == []
    outcome, _ = assignment.hand_in(raw)
    assert (outcome.flags, points(outcome)) == ([], assignment.all_points())


def test_copies_that_differ_in_what_is_graded_are_told(assignment: Assignment) -> None:
    raw = assignment.notebook(assignment.solved)
    check = next(cell for cell in raw["cells"] if cell["source"].endswith('check("accumulate_uneven")'))
    raw["cells"].insert(0, {**check, "id": "other", "source": "100"})
    assert assignment.sanitized(raw).repeated == ["check-accumulate_uneven"]


def test_a_warning_of_the_probe_is_nobodys_fault(tmp_path: Path) -> None:
    """A known mistake of lesson 01: the probe reads `.grad` of a result, which warns."""
    (lesson,) = COURSE.read(["leaf_tensors"])
    exercises = COURSE.exercises(lesson)
    answer = """
def leaf_without_gradient():
    t = 2 * torch.ones(3, requires_grad=True)
    return t, lambda t: t.sum()
"""
    with forked_fork_servers(), open_assignment(lesson, exercises, tmp_path, LIMITS) as assignment:
        filled = Submission("x", "en", {"leaf_without_gradient": answer}).notebook(nbformat.from_dict(assignment.blank))
        outcome, _ = assignment.hand_in(json.loads(json.dumps(filled)))
    assert outcome.verdicts["leaf_without_gradient"].mistake is not None
    assert (outcome.flags, outcome.ended) == ([], None)
