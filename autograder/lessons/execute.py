"""Execution of a lesson source as plain Python.

Runs solutions, alternatives, stubs, mistakes, and facts: assertions that back the prose. Needs torch but not Jupyter.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..cells import BrokenSource, define, execute
from ..checking.exercise import Exercise
from ..checking.expected import Expected, expect
from .mistakes import mistakes_of
from .source import CHECK, Lesson, without_solution


@dataclass
class Ran:
    """The functions, classes and tables that a lesson's cells define.

    `solutions`, `stubs` and `given` (given code) are dicts from exercise name to object. `alternatives` maps an
    exercise name to a dict from a name such as "twice.1" to object. `mistakes` maps an exercise name to a dict from a
    mistake's name to object.
    """

    solutions: dict[str, object] = field(default_factory=dict)
    stubs: dict[str, object] = field(default_factory=dict)
    given: dict[str, object] = field(default_factory=dict)
    alternatives: dict[str, dict[str, object]] = field(default_factory=dict)
    mistakes: dict[str, dict[str, object]] = field(default_factory=dict)

    def expect(self, exercise: Exercise, seed: str) -> Expected:
        """Run the solution, the mistakes and the given code of an exercise on the cases drawn from `seed`.

        Returns what they show, with which answers are compared.

        Raises KeyError if the lesson has no solution of the exercise.
        """
        name = exercise.name
        return expect(exercise, self.solutions[name], self.mistakes.get(name, {}), seed, self.given.get(name))


def run(lesson: Lesson, exercises: dict[str, Exercise], facts: bool = True) -> Ran:
    """Execute a lesson source from top to bottom, without checks and pictures, and then the mistakes.

    Facts are executed only if `facts` is True. Returns what the cells with solutions, stubs, given code, alternatives
    and mistakes define.
    Raises BrokenSource if a cell raises or does not define what its exercise asks for.
    """
    _compare_names(lesson, exercises)
    with _beside_its_files(lesson):
        ran = _run(lesson, exercises, facts)
        for name, solution in ran.solutions.items():
            mistakes, asks = mistakes_of(exercises[name]), exercises[name].asks
            ran.mistakes[name] = {each: mistakes.program(each, asks, solution) for each in mistakes.cells}
        return ran


@contextlib.contextmanager
def _beside_its_files(lesson: Lesson) -> Iterator[None]:
    """Change into a folder with copies of the lesson's data files inside the `with` block.

    A cell that writes files then changes no original file.
    """
    if not lesson.files.is_dir():
        yield
        return
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(lesson.files, folder, dirs_exist_ok=True)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _run(lesson: Lesson, exercises: dict[str, Exercise], facts: bool) -> Ran:
    ran, shared = Ran(), dict[str, Any](__name__="__main__")
    for cell in lesson.cells:
        if cell.kind != "code" or cell.language or cell.is_picture or "check" in cell.metadata:
            continue
        if cell.is_fact and not facts:
            continue
        role, name = cell.role or ("", "")
        if not role:
            execute(lesson.path, cell, shared)
            continue
        if role == "written":
            continue
        asks = exercises[name].asks
        if role == "answer":
            stub = without_solution(cell.source)
            if stub is not None and not lesson.of("given", name):
                ran.stubs[name] = define(lesson.path, cell, dict(shared), asks, stub)
            ran.solutions[name] = define(lesson.path, cell, shared, asks)
        elif role == "given":
            ran.stubs[name] = ran.given[name] = define(lesson.path, cell, dict(shared), asks)
        elif role == "alternative":
            others = ran.alternatives.setdefault(name, {})
            others[f"{name}.{len(others) + 1}"] = define(lesson.path, cell, dict(shared), asks)
    return ran


def _compare_names(lesson: Lesson, exercises: dict[str, Exercise]) -> None:
    """Check the exercise names in a lesson source's cells.

    The grader takes the name from the call `check("name")`, the gradebook from the attribute of the cell. If the two
    names differed, everybody would earn 0 points.
    Raises BrokenSource if an exercise is unknown or a check cell checks another exercise.
    """
    for cell in lesson.cells:
        role, name = cell.role or ("written", "")
        if role != "written" and name not in exercises:
            known = ", ".join(exercises) or "none"
            raise BrokenSource(lesson.path, cell.line, f"no exercise is called {name}; its module has {known}")
        if role == "check":
            call = CHECK.search(cell.source)
            if call is None or call["name"] != name:
                ends = cell.source.rstrip().rpartition("\n")[2] or "nothing"
                wrong = (
                    f'the cell is tagged check="{name}" and ends in `{ends}`: its last line must be `check("{name}")`'
                )
                raise BrokenSource(lesson.path, cell.line, wrong)
