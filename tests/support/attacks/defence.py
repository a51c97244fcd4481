"""The assertions about an attack: nothing is gained, nobody harmed, nothing left.

What a trick must not do is looked for where it would show: in the scores beside those of the same submission without
it, in the outputs, among the processes of this machine, and in a folder of it. The points of an honest submission are
looked at once, after the last attack on an engine: nothing puts back what an attack has changed there.
"""

from __future__ import annotations

import copy
import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat

from autograder.checking.verdict import MIME
from autograder.grading.submission.limited_outputs import without_outputs_for_instructor
from autograder.grading.submission.notebook_run import Outcome
from autograder.grading.submission.scores import is_check, score_of
from autograder.grading.wall_kinds import Wall
from autograder.messages.reasons import describe_reason
from support.assignment import EXERCISES, Assignment, points
from support.attacks.attack import HALF, Attack


def assert_no_gain(attack: Attack, assignment: Assignment) -> None:
    """Hand in an attack."""
    wall = assignment.engine.wall
    if wall == Wall.LANDLOCK:
        attack = replace(attack, **attack.on_landlock)
    answers = {**HALF, **attack.answers}
    without = {**HALF, **(attack.answers if attack.without is None else attack.without)}
    place = str(assignment.folder)
    raw = assignment.notebook(answers, attack.first.replace("HOST", place), attack.last)
    if attack.edit:
        attack.edit(raw)
    outcome, notebook = assignment.hand_in(copy.deepcopy(raw))

    got, allowed = points(outcome), assignment.points_without(without)
    assert {name: (got[name], allowed.get(name, 0)) for name in got if got[name] > allowed.get(name, 0)} == {}
    killed = outcome.ended in ("time", "memory")  # it may have said nothing
    if attack.flagged and (outcome.flags or not killed):
        flags = [describe_reason(flag).en for flag in outcome.flags]
        assert any(attack.flagged in flag for flag in flags), (flags, outcome.ended)
    else:
        assert outcome.flags == []
    assert any(attack.noted in note for note in outcome.notes) or not attack.noted
    assert (outcome.ended or "") in attack.ended.split("|")
    _is_harmless(outcome, notebook, attack)
    _nothing_is_left(notebook, wall)
    assert [path.name for path in assignment.folder.iterdir() if path.name != ".autograder"] == ["secret"]


def _is_harmless(outcome: Outcome, notebook: Any, attack: Attack) -> None:
    """Check that a graded notebook can be written and holds nothing harmful.

    Harmful are a secret, a script, and a verdict that is not the grader's own.
    """
    without_outputs_for_instructor(notebook)  # they name what the attack has written
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


def _nothing_is_left(notebook: Any, wall: str) -> None:
    """Check that no process of a submission is left.

    Its first cell has told its process and its process namespace. Without a namespace of its own, it is one process.
    """
    told = [output.get("text", "").strip() for output in notebook.cells[0].outputs]
    if not told:
        return
    until = time.monotonic() + 100
    process, namespace = told[0].split()
    while left := [each for each in _suspects(process, wall) if _namespace(each) == namespace]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.02)


def _suspects(process: str, wall: str) -> list[str]:
    return [process] if wall == Wall.LANDLOCK else [each for each in os.listdir("/proc") if each.isdigit()]


def _namespace(process: str) -> str:
    try:
        state = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        )
        return "" if state in "ZX" else os.readlink(f"/proc/{process}/ns/pid")
    except OSError:  # it has ended
        return ""


def assert_honest_ones_are_graded(assignment: Assignment) -> None:
    outcome, _ = assignment.hand_in(assignment.notebook(assignment.solved))
    assert (outcome.flags, outcome.ended) == ([], None)
    assert points(outcome) == {name: assignment.judge.answers.exercises[name].points for name in EXERCISES}
