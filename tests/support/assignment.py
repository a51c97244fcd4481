"""An assignment, and notebooks that are handed in to it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest

import support
from autograder.checking.exercise import Exercise
from autograder.grading.course import hidden_cases as hidden
from autograder.grading.gradebook.released_notebooks import Released, ReleasedNotebook, released_cells
from autograder.grading.limits import Limits
from autograder.grading.sandbox.grader import student_process
from autograder.grading.sandbox.grader.engine import Engine
from autograder.grading.submission.judgement import LessonJudge
from autograder.grading.submission.notebook_run import Outcome, run_notebook
from autograder.grading.submission.sanitize import Sanitized, sanitize
from autograder.grading.submission.self_test import warm_up_engine
from autograder.grading.submission.submitted_notebook import SubmittedNotebook
from autograder.grading.wall_kinds import Wall
from autograder.lessons.notebooks import source_notebook, student_notebook
from autograder.lessons.source import Lesson, solutions
from support.once import once
from support.submissions import Submission

EXERCISES = ("predict_accumulation", "accumulate_uneven", "accumulate_equal", "train_epoch", "is_right")
_PROCESS = "import os; print(os.getpid(), os.readlink('/proc/self/ns/pid'))"


@dataclass
class Assignment:
    """An assignment with an engine, and a folder beside the course."""

    engine: Engine
    judge: LessonJudge
    released: dict[str, Released]
    blank: dict[str, Any]
    solved: dict[str, str]
    folder: Path
    asked: tuple[str, ...]  # exercises whose cells are handed in
    plain: dict[str, dict[str, float]] = field(default_factory=dict)  # points without a trick, by answers

    def hand_in(self, raw: dict[str, Any]) -> tuple[Outcome, Any]:
        """Grade a notebook; its outcome and what becomes of it."""
        clean = self.sanitized(raw)
        return run_notebook(self.engine, clean.notebook, self.judge, {}), clean.notebook

    def sanitized(self, raw: dict[str, Any]) -> Sanitized:
        return sanitize(SubmittedNotebook(raw, ReleasedNotebook(self.released, None)))

    def notebook(self, answers: dict[str, str], first: str = "", last: str = "") -> dict[str, Any]:
        """The assignment's imports, answers and checks, with a cell of one's own before and one after them."""
        filled = Submission("x", "en", answers).notebook(nbformat.from_dict(self.blank))
        raw: dict[str, Any] = json.loads(json.dumps(filled))
        raw["cells"] = [
            code_cell("process", _PROCESS),
            *(cell for cell in raw["cells"] if cell["cell_type"] == "code" and self._is_needed(cell)),
            code_cell("last", last),
        ]
        raw["cells"].insert(3, code_cell("first", first))
        return raw

    def points_without(self, answers: dict[str, str]) -> dict[str, float]:
        key = json.dumps(answers)
        if key not in self.plain:
            outcome, _ = self.hand_in(self.notebook(answers))
            assert not outcome.flags
            self.plain[key] = points(outcome)
        return self.plain[key]

    def all_points(self) -> dict[str, float]:
        """The points of right answers."""
        return {name: self.judge.answers.exercises[name].points for name in EXERCISES}

    def _is_needed(self, cell: dict[str, Any]) -> bool:
        role, _, name = cell["metadata"].get("nbgrader", {}).get("grade_id", "").partition("-")
        if role:
            return name in self.asked
        return re.search(r"^(import torch$|start\()", cell["source"], re.M) is not None  # pictures take time


def code_cell(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": name, "source": source, "metadata": {}, "outputs": [], "execution_count": None}


def points(outcome: Outcome) -> dict[str, float]:
    return {name: verdict.points for name, verdict in outcome.verdicts.items() if verdict.points}


def blank_notebook(lesson: Lesson, exercises: dict[str, Exercise]) -> Any:
    """Return a lesson's notebook as a student gets it."""
    return student_notebook(source_notebook(lesson, exercises), "en")


def _course(lesson: Lesson, exercises: dict[str, Exercise]) -> Path:
    """Return a folder with a secret and the expected results, made once for all workers.

    A copy saves 6 s of processor time.
    """
    made: Path = support.made_courses / f"assignment-{lesson.name}"

    def make() -> None:
        (made / "secret").write_text("SECRET" * 10, encoding="utf-8")
        hidden.expected_results(made, lesson, exercises)

    once(made, make)
    return made


@contextmanager
def open_assignment(
    lesson: Lesson,
    exercises: dict[str, Exercise],
    folder: Path,
    limits: Limits,
    asked: tuple[str, ...] = EXERCISES,
    wall: str = Wall.FULL,
) -> Iterator[Assignment]:
    """Start an engine for an assignment whose course lies in an empty `folder`."""
    shutil.copytree(_course(lesson, exercises), folder / "course")
    folder.joinpath("course").chmod(0o777)
    blank = blank_notebook(lesson, exercises)
    judge = LessonJudge(hidden.expected_results(folder / "course", lesson, exercises))
    released = released_cells(blank)
    solved = {name: solutions(exercise)[0] for name, exercise in exercises.items()}
    with Engine(limits, wall=wall) as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(student_process, "_GRACE", 1.0)  # what ignores its time limit computes 2 s less
        warm_up_engine(engine, lesson, exercises, {})
        yield Assignment(engine, judge, released, blank, solved, folder / "course", asked)
