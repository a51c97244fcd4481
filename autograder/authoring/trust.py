"""A table of what each aspect's verdict rests on, for THREATS.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from ..checking.exercise import Aspect, Exercise
from ..checking.run import Run
from ..checking.values import AtMost
from ..exercises import key_of
from ..lessons.collection import COURSE

_FILE = Path(__file__).parents[1] / "grading" / "THREATS.md"
_BEGIN, _END = "<!-- made by `autograder build summary` -->\n", "<!-- end -->\n"


class Ground(StrEnum):
    """The grounds of a verdict on an aspect."""

    VALUES = "values"
    KERNEL = "kernel"
    COUNTED = "counted"
    SAID = "said"


def ground_of(exercise: Exercise, aspect: Aspect, runs: Iterable[Run]) -> Ground:
    """Return what the verdict on an aspect rests on. `runs` are the observations of the solution.

    A table of predictions is the learner's own data, also where it says yes or no.
    """
    if aspect.name in exercise.weighings:
        return Ground.KERNEL
    parts = [part for run in runs for part in _parts(run.values.get(aspect.name))]
    if any(isinstance(part, AtMost) for part in parts):
        return Ground.COUNTED
    said = exercise.asks_for != "dict" and all(isinstance(part, bool) or part is None for part in parts)
    return Ground.SAID if said else Ground.VALUES


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _parts(each)
    else:
        yield value


def table() -> str:
    """Return the table of the course's lessons as Markdown: a row for each lesson, and sums."""
    grounds = "values, judged outside | bytes, counted by the kernel | counted in the child | said by the child"
    head = f"| lesson | {grounds} |\n|---|---|---|---|---|\n"
    sums = dict.fromkeys(Ground, 0.0)
    rows = []
    for lesson in COURSE.read():
        cells: dict[Ground, list[tuple[str, float]]] = {ground: [] for ground in Ground}
        for exercise in COURSE.exercises(lesson).values():
            runs = key_of(exercise).expected.solution
            for aspect in (each for each in exercise.aspects if each.points):
                ground = ground_of(exercise, aspect, runs)
                cells[ground].append((f"`{exercise.name}.{aspect.name}`", aspect.points))
                sums[ground] += aspect.points
        of_values = f"{_points(cells[Ground.VALUES])} in {len(cells[Ground.VALUES])} aspects"
        others = [_listed(cells[ground]) for ground in Ground if ground is not Ground.VALUES]
        rows.append(f"| {lesson.file_name} | {' | '.join([of_values, *others])} |\n")
    total = " | ".join(f"{sums[ground]:g} points" for ground in Ground)
    return f"{head}{''.join(rows)}| all | {total} |\n"


def _points(aspects: list[tuple[str, float]]) -> str:
    return f"{sum(points for _, points in aspects):g} points"


def _listed(aspects: list[tuple[str, float]]) -> str:
    return f"{_points(aspects)}: {', '.join(name for name, _ in aspects)}" if aspects else "—"


def files() -> dict[Path, str | bytes]:
    """Return a dict from the path of THREATS.md to its text with the table as it is now."""
    before, _, rest = _FILE.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return {_FILE: f"{before}{_BEGIN}{table()}{_END}{after}"}
