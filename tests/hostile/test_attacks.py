"""Submissions that attack the grader: nothing is gained, nobody harmed, tampering named.

Each is run as `autograder grade` runs it, in a child with small limits. What a trick must not do is looked for where it
would show: in the scores beside those of the same submission without it, in the outputs, among the processes of this
machine, in a folder of it, and in the points of an honest submission that is graded next.
"""

from __future__ import annotations

import copy
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.authoring.source import Lesson
from autograder.checking.exercise import Exercise
from autograder.checking.verdict import MIME
from autograder.grading.limits import Limits
from autograder.grading.submission.notebook_run import Outcome
from autograder.grading.submission.scores import is_check, score_of
from support import attacks
from support.assignment import EXERCISES, Assignment, code_cell, open_assignment, points
from support.attacks.attack import HALF, Attack

pytestmark = pytest.mark.long

LIMITS = Limits(cell_seconds=2, total_seconds=8, memory=1 << 30, processes=12, disk_bytes=64 << 20)


@pytest.fixture(scope="module")
def assignment(
    lesson_source: Lesson, exercises: dict[str, Exercise], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assignment]:
    with open_assignment(lesson_source, exercises, tmp_path_factory.mktemp("hostile"), LIMITS) as opened:
        yield opened


@pytest.mark.parametrize("attack", attacks.ALL, ids=lambda attack: attack.name)
def test_an_attack_does_not_pay(attack: Attack, assignment: Assignment) -> None:
    answers = {**HALF, **attack.answers}
    without = {**HALF, **(attack.answers if attack.without is None else attack.without)}
    place = str(assignment.folder)
    raw = assignment.notebook(answers, attack.first.replace("HOST", place), attack.last)
    if attack.edit:
        attack.edit(raw)
    outcome, notebook = assignment.hand_in(copy.deepcopy(raw))

    got, allowed = points(outcome), assignment.points_without(without)
    assert {name: (got[name], allowed.get(name, 0)) for name in got if got[name] > allowed.get(name, 0)} == {}
    if attack.flagged and (outcome.flags or outcome.ended != "time"):  # killed for time, it has said nothing
        assert any(attack.flagged in flag for flag in outcome.flags), (outcome.flags, outcome.ended)
    else:
        assert outcome.flags == []
    assert any(attack.noted in note for note in outcome.notes) or not attack.noted
    assert (outcome.ended or "") in attack.ended.split("|")
    _is_harmless(outcome, notebook, attack)
    _nothing_is_left(notebook)
    assert [path.name for path in assignment.folder.iterdir() if path.name != ".autograder"] == ["secret"]
    _honest_ones_are_graded(assignment)


@pytest.mark.parametrize("cells_after", [0, 2000])
def test_who_ends_right_after_a_check_keeps_its_points(assignment: Assignment, cells_after: int) -> None:
    """The cells after a check are sent to it before it has shown that nothing was replaced: it shows that first."""
    raw = assignment.notebook({**HALF, **{name: assignment.solved[name] for name in EXERCISES[:2]}})
    ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in raw["cells"]]
    after = ids.index(f"check-{EXERCISES[1]}") + 1
    end = code_cell("end", "import os\nos._exit(0)")
    raw["cells"][after:after] = [end, *(code_cell(f"after-{number}", "x = 1") for number in range(cells_after))]
    for _ in range(5):
        outcome, _ = assignment.hand_in(copy.deepcopy(raw))
        assert (outcome.ended, outcome.flags) == ("died", [])
        assert points(outcome) == {name: assignment.judge.answers.exercises[name].points for name in EXERCISES[:2]}


def test_a_thousand_little_cells_are_run(assignment: Assignment) -> None:
    """Neither side waits for the other to take what it has sent."""
    raw = assignment.notebook(assignment.solved)
    little = [code_cell(f"little-{number}", f"print({number}, 'Я' * {number})") for number in range(1000)]
    raw["cells"][2:2] = little
    outcome, notebook = assignment.hand_in(raw)
    assert (outcome.ended, outcome.flags) == (None, [])
    assert points(outcome) == {name: assignment.judge.answers.exercises[name].points for name in EXERCISES}
    shown = [cell.outputs[0].text for cell in notebook.cells if cell.id.startswith("little-")]
    assert shown == [f"{number} {'Я' * number}\n" for number in range(1000)]


def _is_harmless(outcome: Outcome, notebook: Any, attack: Attack) -> None:
    """Nothing that should not have been read, no script, no verdict but the grader's own; and it can be written."""
    written = nbformat.writes(notebook)
    assert len(written.encode()) < 64 << 20
    assert "NaN" not in written
    assert "Infinity" not in written
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if MIME in data:
                assert cell.metadata.nbgrader.locked
                assert data[MIME]["exercise"] in outcome.verdicts
                verdict = outcome.verdicts[data[MIME]["exercise"]]
                assert json.dumps(data[MIME]) == json.dumps(verdict.to_json())
            page = data.get("text/html", "")
            assert not re.search(r"<(script|iframe|svg|img)\b|<[^>]*\son\w+\s*=|javascript:", page)
            if MIME not in data and attack.never:
                shown = {
                    key: value for key, value in output.items() if key != "traceback"
                }  # that has the attack's source
                assert not re.search(attack.never, json.dumps(shown))
        if is_check(cell):
            assert 0 <= (score_of(cell).points or 0) <= cell.metadata.nbgrader.points


def _nothing_is_left(notebook: Any) -> None:
    """The submission's first cell has told its process namespace, where no process may be any more."""
    told = [output.get("text", "").strip() for output in notebook.cells[0].outputs]
    if not told:
        return
    until = time.monotonic() + 10
    while left := [process for process in filter(str.isdigit, os.listdir("/proc")) if _namespace(process) == told[0]]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.02)


def _namespace(process: str) -> str:
    try:
        state = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        )
        return "" if state in "ZX" else os.readlink(f"/proc/{process}/ns/pid")
    except OSError:  # it has ended
        return ""


def _honest_ones_are_graded(assignment: Assignment) -> None:
    outcome, _ = assignment.hand_in(assignment.notebook(assignment.solved))
    assert (outcome.flags, outcome.ended) == ([], None)
    assert points(outcome) == {name: assignment.judge.answers.exercises[name].points for name in EXERCISES}
