"""Expected results on the hidden cases, computed outside the sandbox.

The seed of an exercise's hidden cases derives from the course's secret. When a child reaches the check, it gets the
seed and runs the probe on the cases. Expected results never leave the grader's process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ...checking.counting.weighing import expect_weighed
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...errors import UserError
from ...exercises import PACKAGED, SHARED, path_of
from ...exercises.moved import moved_from
from ...grade_ids import CellKind, GradeId
from ...lessons.collection import COURSE, private
from ...lessons.execute import run
from ...lessons.source import Lesson, read

_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True)
class ExpectedResults:
    """A lesson, its exercises, and their expected results on the hidden cases.

    The keys of the dicts are names of exercises. `weighed` has the expected results of large runs, by aspect.
    """

    lesson: Lesson
    exercises: dict[str, Exercise]
    expected: dict[str, Expected]
    weighed: dict[str, dict[str, Expected]] = field(default_factory=dict)

    @property
    def programs(self) -> dict[str, str]:
        """A dict from exercise name to the text of the programs that a learner's test is tried on."""
        return {name: each.programs_text for name, each in self.exercises.items() if each.programs_text}


def lesson_of(course: Path, assignment: str) -> tuple[Lesson, dict[str, Exercise]] | None:
    """Return the lesson of an assignment, and a dict from exercise name to exercise.

    `course` is the course folder. Returns None if the assignment was not built from a lesson.
    """
    collections = [COURSE, private(course)] if (course / "lessons").is_dir() else [COURSE]
    for collection in collections:
        path = collection.lessons / f"{assignment}.py"
        if path.is_file():
            lesson = read(path)
            return _with_moved(course, lesson, collection.exercises(lesson))
    return None


def _with_moved(course: Path, lesson: Lesson, known: dict[str, Exercise]) -> tuple[Lesson, dict[str, Exercise]]:
    """Return a lesson and its exercises, with those that have moved since the course was released.

    A course keeps the notebook of a lesson that was handed in, and students have it. `known` maps exercise names to the
    lesson's exercises of today.
    """
    moved = moved_from(lesson.name)
    released = course / "source" / lesson.file_name / f"{lesson.file_name}.ipynb"
    text = released.read_text(encoding="utf-8") if moved and released.is_file() else ""
    asked = {name for name in moved if f'"{GradeId.of(CellKind.CHECK, name)}"' in text}
    for other in COURSE.read(sorted({moved[name] for name in asked})) if asked else []:
        cells = [cell for cell in other.cells if not cell.role or cell.role[1] in asked]
        lesson = replace(lesson, cells=[*lesson.cells, *cells])
        known = {**known, **{name: each for name, each in COURSE.exercises(other).items() if name in asked}}
    return lesson, known


def expected_results(course: Path, lesson: Lesson, known: dict[str, Exercise]) -> ExpectedResults:
    """Return the expected results of a lesson on the hidden cases of one course.

    `course` is the course folder. `known` maps exercise names to the lesson's exercises. The results are cached in the
    folder `.autograder`. They are computed again if the lesson, the checking code, torch or the secret changes.
    Raises UserError with the remedy if the secret is missing or invalid.
    """
    secret = read_secret(course)
    seeds = {name: seed_of(secret, exercise) for name, exercise in known.items()}
    cache = course / ".autograder" / f"{lesson.file_name}.json"
    stamp = _stamp(lesson, known, seeds)
    try:
        stored = json.loads(cache.read_text(encoding="utf-8"))
        if stored["stamp"] == stamp:
            return ExpectedResults(
                lesson,
                known,
                _decoded(stored["expected"]),
                {name: _decoded(data) for name, data in stored["weighed"].items()},
            )
    except (OSError, ValueError, LookupError, TypeError):
        pass  # no cache yet, or a truncated one
    ran = run(lesson, known, facts=False)
    expected = {name: ran.expect(exercise, seeds[name]) for name, exercise in known.items() if name in ran.solutions}
    weighed = {
        name: expect_weighed(known[name], ran.solutions[name], seed_of(secret, known[name], "large"))
        for name in expected
    }
    data = {
        "stamp": stamp,
        "expected": _encoded(expected),
        "weighed": {name: _encoded(each) for name, each in weighed.items()},
    }
    _write_private(cache, json.dumps(data))
    return ExpectedResults(lesson, known, expected, weighed)


def _encoded(expected: Mapping[str, Expected]) -> dict[str, Any]:
    return {name: each.to_json() for name, each in expected.items()}


def _decoded(data: Mapping[str, Any]) -> dict[str, Expected]:
    return {name: Expected.from_json(each) for name, each in data.items()}


def seed_of(secret: str, exercise: Exercise, runs: str = "") -> str:
    """Return the seed of an exercise's hidden cases, derived from the course's secret.

    Other `runs` have other seeds, and none tells another. A child gets a seed when it runs the cases. It reveals
    only the inputs of the cases, which the child sees anyway.
    """
    named = f"{exercise.lesson}.{exercise.name}.{exercise.version}{runs and f'.{runs}'}"
    return hmac.new(secret.encode(), named.encode(), hashlib.sha256).hexdigest()[:24]


def read_secret(course: Path) -> str:
    """Return the secret of a course. `course` is the course folder.

    Raises UserError with the remedy if the secret is missing or too short.
    """
    path = course / "secret"
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: the hidden cases are drawn from it; make the course again with "
                     f"`autograder course {course}`, which adds what is missing") from error  # fmt: skip
    if len(secret) < 32:
        raise UserError(f"{path} is too short to be secret: remove it and run `autograder course {course}`")
    return secret


def modules_behind(known: Iterable[Exercise]) -> set[Path]:
    """Return the paths of the Python files on which expected results depend.

    These are the modules, mistakes and programs of the exercises `known`, what they share, and the checking code.
    """
    packages = {*(path_of(each) for each in known), PACKAGED / SHARED}
    modules = (file for path in packages for file in path.rglob("*.py"))
    return {*modules, *_PACKAGE.glob("checking/**/*.py"), *_PACKAGE.glob("*.py")}


def _stamp(lesson: Lesson, known: dict[str, Exercise], seeds: dict[str, str]) -> str:
    """Return a hash that changes whenever the expected results may change.

    `known` maps exercise names to exercises. `seeds` maps exercise names to the seeds of their hidden cases.
    """
    parts = [torch.__version__, *seeds.values(), *(cell.source for cell in lesson.cells)]
    parts += [path.read_text(encoding="utf-8") for path in sorted(modules_behind(known.values()))]
    found = hashlib.sha256("\0".join([*parts, *known]).encode())
    for path in sorted(lesson.files.rglob("*")):  # data of an instructor's own lesson
        if path.is_file():
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def _write_private(path: Path, text: str) -> None:
    """Write `text` atomically to a file that no other user may read."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
