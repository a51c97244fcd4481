"""The self-test of grading: a lesson's own solutions must get all points."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import torch
from nbformat.notebooknode import NotebookNode

from ... import exercises
from ...cards.shown_verdict import ShownVerdict
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...errors import UserError
from ...grade_ids import CellKind, GradeId
from ...language import LANGUAGES
from ...lessons.mistakes import mistakes_of, modules_for_mistakes
from ...lessons.notebooks import OneLanguage, settings, source_notebook, student_notebook
from ...lessons.source import Lesson
from ...messages.reasons import describe_reason
from ..course import hidden_cases as hidden
from ..course.assignment_files import EncodedFiles
from ..gradebook.released_notebooks import ReleasedCells, ReleasedNotebook, released_cells
from ..sandbox.grader.engine import Engine
from ..sandbox.wire.run_codec import Rehearsal
from ..sandbox.wire.wire_messages import ChildRequest
from .judgement import LessonJudge
from .notebook_run import run_notebook
from .sanitize import sanitize
from .submitted_notebook import SubmittedNotebook

_STARTS, _CHECKS = re.compile(r"^start\(", re.M), re.compile(r"^check\(", re.M)


def warm_up_engine(engine: Engine, lesson: Lesson, known: dict[str, Exercise], files: EncodedFiles) -> None:
    """Let the fork server run a rehearsal of a lesson, for children that are forked later.

    `known` maps exercise names to exercises. `files` are the assignment's.
    Raises CannotIsolate if the kernel refuses isolation, Ended if a child dies, RuntimeError if the fork server ends.
    """
    source, path = source_notebook(lesson, known), exercises.lesson_path(exercises.PACKAGED, lesson.name)
    if path:
        own = {name: each for name, each in known.items() if each.lesson == lesson.name}
        moved = {each.lesson: _texts(exercises.path_of(each)) for name, each in known.items() if name not in own}
        answers, helpers = _first_mistakes(own), modules_for_mistakes(path)
        modules, plain = _texts(path), plain_cells(source)
        shared = _texts(exercises.PACKAGED / exercises.SHARED)
        asked = Rehearsal(lesson.name, modules, plain, answers=answers, helpers=helpers, moved=moved, shared=shared)
        engine.rehearse(asked)
    else:  # a private lesson's exercises may change while an engine runs: only load the modules that they import
        # Replace the `start(...)` cell by `pass` instead of dropping it: cell numbers are part of the cache key.
        plain = [["pass" if _STARTS.search(cell) else cell for cell in cells] for cells in plain_cells(source)]
        imports = _imported(engine, lesson, _solved(source), files)
        engine.rehearse(Rehearsal("", notebooks=plain, imports=imports))


def grade_solution(engine: Engine, judge: LessonJudge, released: ReleasedCells, files: EncodedFiles) -> None:
    """Grade a lesson's notebook with the solutions, like a submission.

    `files` are the assignment's.
    Raises UserError if the notebook does not get all points.
    """
    answers = judge.answers
    solved = _solved(source_notebook(answers.lesson, answers.exercises))
    clean = sanitize(SubmittedNotebook(solved, ReleasedNotebook(released, None)))
    outcome = run_notebook(engine, clean.notebook, judge, files)
    wrong = [
        f"{name}: {ShownVerdict.of(verdict).text('en')}"
        for name, verdict in outcome.verdicts.items()
        if verdict.state != VerdictState.PASSED and GradeId.of(CellKind.CHECK, name) in released
    ]
    if outcome.ended or wrong or outcome.flags:
        flags = [describe_reason(flag).en for flag in outcome.flags]
        said = "\n".join([*wrong, *flags, *([f"stopped: {outcome.ended}"] if outcome.ended else [])])
        raise UserError(
            f"the course's own solution of {answers.lesson.file_name} does not get all points on this machine, so "
            f"nobody's answers were graded. Python {platform.python_version()} with torch {torch.__version__}: if the "
            f"course was not tried on them (benchmarks/versions.md), install versions that it was tried on, such as "
            f"Python 3.11 with torch 2.13.\n{said}"
        )


def grade_packaged_lesson(engine: Engine, lesson: Lesson, known: dict[str, Exercise]) -> None:
    """Grade a packaged lesson's solutions on the public cases, which needs no course folder.

    `known` maps exercise names to exercises.
    Raises UserError if they do not get all points, and what `warm_up_engine` raises.
    """
    warm_up_engine(engine, lesson, known, {})
    public = {name: exercises.key_of(each).expected for name, each in known.items()}
    judge = LessonJudge(hidden.ExpectedResults(lesson, known, public))
    grade_solution(engine, judge, released_cells(student_notebook(source_notebook(lesson, known), "en")), {})


def _texts(package: Path) -> dict[str, str]:
    """Return a dict from module name to source, for the modules of a lesson's package."""
    return {name: file.read_text(encoding="utf-8") for name, file in exercises.module_files(package).items()}


def _first_mistakes(known: dict[str, Exercise]) -> dict[str, str]:
    """Return a dict from exercise name to code that makes the exercise's first mistake.

    Tables of predictions are left out, because they are no programs. Exercises that ask for a test are left out,
    because the programs to try a test on are not in the fork server.
    """
    found = {}
    for name, exercise in known.items():
        mistakes = mistakes_of(exercise)
        if mistakes.cells and exercise.asks_for != "dict" and not exercise.programs_text:
            found[name] = mistakes.code(next(iter(mistakes.cells)))
    return found


def _solved(source: NotebookNode) -> NotebookNode:
    """Return the English version of a source notebook, with the solutions."""
    from traitlets.config import Config

    solved, _ = OneLanguage(config=Config(settings("en"))).preprocess(source, {})
    return solved


def _imported(engine: Engine, lesson: Lesson, solved: NotebookNode, files: EncodedFiles) -> list[str]:
    """Return the names of the modules that a notebook with solutions imports, except the exercises.

    The notebook is run in a child to find out.
    """
    with engine.fork() as child:
        child.ask(ChildRequest.BEGIN, lesson=lesson.name, files=files)
        before = set(child.ask(ChildRequest.MODULES)["modules"])
        for cell in solved.cells:
            if cell.cell_type == "code":
                child.ask(ChildRequest.CELL, source=cell.source)
        after = child.ask(ChildRequest.MODULES)["modules"]
    return [name for name in after if name not in before and not name.startswith("private_exercises")]


def plain_cells(source: NotebookNode) -> list[list[str]]:
    """Return a list per language with the sources of a lesson's released code cells.

    Checks are left out.
    """
    notebooks = [
        [cell.source for cell in student_notebook(source, language).cells if cell.cell_type == "code"]
        for language in LANGUAGES
    ]
    return [[cell for cell in cells if not _CHECKS.search(cell)] for cells in notebooks]
