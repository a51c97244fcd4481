"""Execution of a lesson source as plain Python.

Runs solutions, alternatives, stubs and facts, which are assertions that back the prose. Needs torch but not Jupyter.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..checking.exercise import Exercise
from ..checking.expected import Expected, expect
from .source import CHECK, BrokenSource, Cell, Lesson, without_solution


@dataclass
class Ran:
    """The functions, classes and tables that a lesson's cells define.

    `solutions`, `stubs` and `given` (given code) are dicts from exercise name to object. In `alternatives`, each
    exercise name has a dict from a name such as "twice.1" to object.
    """

    solutions: dict[str, object] = field(default_factory=dict)
    stubs: dict[str, object] = field(default_factory=dict)
    given: dict[str, object] = field(default_factory=dict)
    alternatives: dict[str, dict[str, object]] = field(default_factory=dict)

    def expect(self, exercise: Exercise, seed: str) -> Expected:
        """Observe solution, mistakes and given code of an exercise on the cases of `seed`.

        Raises KeyError if the lesson has no solution of the exercise.
        """
        return expect(exercise, self.solutions[exercise.name], seed, self.given.get(exercise.name))


def run(lesson: Lesson, exercises: dict[str, Exercise], facts: bool = True) -> Ran:
    """Execute a lesson source from top to bottom, without checks and pictures.

    Facts are executed only if `facts` is True. Returns what the cells with solutions, stubs, given code and
    alternatives define.
    Raises BrokenSource if a cell raises or does not define what its exercise asks for.
    """
    _compare_names(lesson, exercises)
    with _beside_its_files(lesson):
        return _run(lesson, exercises, facts)


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
            _execute(lesson, cell, cell.source, shared)
            continue
        if role == "written":
            continue
        asks = exercises[name].asks
        if role == "answer":
            stub = without_solution(cell.source)
            if stub is not None and not lesson.of("given", name):
                ran.stubs[name] = _define(lesson, cell, stub, dict(shared), asks)
            ran.solutions[name] = _define(lesson, cell, cell.source, shared, asks)
        elif role == "given":
            ran.stubs[name] = ran.given[name] = _define(lesson, cell, cell.source, dict(shared), asks)
        elif role == "alternative":
            others = ran.alternatives.setdefault(name, {})
            others[f"{name}.{len(others) + 1}"] = _define(lesson, cell, cell.source, dict(shared), asks)
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


def _define(lesson: Lesson, cell: Cell, source: str, namespace: dict[str, Any], asks: str) -> object:
    namespace.pop(asks, None)
    _execute(lesson, cell, source, namespace)
    if asks not in namespace:
        raise BrokenSource(lesson.path, cell.line, f"the cell does not define `{asks}`, the name its exercise asks for")
    return namespace[asks]


def _execute(lesson: Lesson, cell: Cell, source: str, namespace: dict[str, Any]) -> None:
    lines_before = "\n" * cell.line  # errors then report the line in the file
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch issues one at the first use of forward mode
            exec(compile(lines_before + source, str(lesson.path), "exec"), namespace)
    except Exception as error:
        what = "fact does not hold" if cell.is_fact else "cell raises an error"
        detail = f"{type(error).__name__}: {error}".rstrip(": ")
        raise BrokenSource(lesson.path, cell.line, f"this {what}: {detail}") from error
