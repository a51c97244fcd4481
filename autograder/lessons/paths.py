"""Paths through the course: some lessons in steps, with a purpose.

A path is a file of `notebooks/paths`: its place among them, a title, for whom it is, what one can do afterwards, and
steps. A step names lessons, all of whose core counts but what `without` names; `also` names extra exercises that count
on this path, `only` those that count alone. Minutes are read from the built notebooks.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from ..errors import UserError
from ..grade_ids import CellKind, GradeId
from ..language import Text
from .source import NOTEBOOKS

PATHS = NOTEBOOKS / "paths"


class UnknownPath(UserError):
    """An error that names the paths there are."""


class StepKind(StrEnum):
    """The sitting that a step of a path is meant for."""

    WEEK = "week"
    EVENING = "evening"
    PART = "part"


@dataclass(frozen=True)
class Part:
    """A lesson on a path.

    `lesson` is its file name, `counts` are the names of the exercises that count on the path, `minutes` those of a
    first reader. `is_core` is True if the lesson's core counts and nothing else.
    """

    lesson: str
    counts: tuple[str, ...]
    minutes: int
    is_core: bool


@dataclass(frozen=True)
class CoursePath:
    """A path through the course, in steps of one or more lessons."""

    name: str
    title: Text
    whom: Text
    afterwards: Text
    step: StepKind
    steps: tuple[tuple[Part, ...], ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for step in self.steps for part in step)

    @property
    def minutes(self) -> int:
        return sum(part.minutes for part in self.parts)

    def minutes_of(self, lesson: str) -> int:
        """Return the minutes that a lesson takes on this path, by its file name."""
        return sum(part.minutes for part in self.parts if part.lesson == lesson)

    @property
    def counts(self) -> dict[str, tuple[str, ...]]:
        """A dict from the file name of each lesson, in order, to the exercises that count, of all its steps."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self.parts:
            found[part.lesson] = (*found.get(part.lesson, ()), *part.counts)
        return found

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """The same for the lessons in which other exercises count than those of the core."""
        own = {part.lesson for part in self.parts if not part.is_core}
        return {lesson: names for lesson, names in self.counts.items() if lesson in own}


def path_names() -> list[str]:
    """Return the names of all paths, in the order of their `place`. The whole course is none."""
    return sorted((file.stem for file in PATHS.glob("*.toml")), key=lambda name: int(_stated(name)["place"]))


@cache
def _stated(name: str) -> dict[str, Any]:
    return tomllib.loads((PATHS / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def read_path(name: str) -> CoursePath:
    """Return the path called `name`.

    Raises UnknownPath if there is none.
    """
    if name not in path_names():
        raise UnknownPath(f"there is no path {name!r}; the paths are {', '.join(path_names())}")
    stated = _stated(name)
    texts = {key: Text(**stated[key]) for key in ("title", "whom", "afterwards")}
    steps = tuple(tuple(_parts(step)) for step in stated["steps"])
    return CoursePath(name, step=StepKind(stated["step"]), steps=steps, **texts)


def _parts(step: Mapping[str, Sequence[str]]) -> list[Part]:
    only, also, without = step.get("only"), step.get("also", ()), step.get("without", ())
    return [_part(lesson, only, also, without) for lesson in step["lessons"]]


def _part(lesson: str, only: Sequence[str] | None, also: Sequence[str], without: Sequence[str]) -> Part:
    file = next(NOTEBOOKS.glob(f"en/[0-9][0-9]_{lesson}.ipynb"))
    notebook = json.loads(file.read_text(encoding="utf-8"))
    minutes, core = exercises_in(notebook, (CellKind.CHECK, CellKind.WRITTEN))
    if only is not None:
        counts = tuple(name for name in minutes if name in only)
        return Part(file.stem, counts, sum(minutes[name] for name in counts), is_core=False)
    counts = tuple(name for name in minutes if name in also or (name in core and name not in without))
    more = sum(minutes[name] for name in counts if name not in core)
    more -= sum(minutes[name] for name in core if name not in counts)
    whole = notebook["metadata"]["autograder"]["minutes"] + more
    return Part(file.stem, counts, whole, is_core=set(counts) == core)


def exercises_in(notebook: Mapping[str, Any], kinds: Collection[CellKind]) -> tuple[dict[str, int], set[str]]:
    """Return the minutes of exercises and questions in a built notebook, and the names of those that count.

    `kinds` are the kinds of cells that stand for one.
    """
    minutes, core = {}, set()
    for cell in notebook["cells"]:
        stated = cell["metadata"].get("nbgrader", {})
        named = GradeId(stated.get("grade_id", ""))
        if named.kind in kinds:
            minutes[named.exercise] = cell["metadata"].get("autograder", {}).get("minutes", 0)
            core |= {named.exercise} if stated["grade"] else set()
    return minutes, core
