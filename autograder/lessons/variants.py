"""Variants: other programs for a table, as cells of the file `variants/EXERCISE.py`.

    # %%
    RATE = [0.1, 0.5]  # one of these is drawn

    # %% variant="clears_between"
    def two_backward_passes(): ...

    # %% mistake="alias_is_a_snapshot"
    {r"first = w\\.grad$": "first = w.grad.clone()"}

The function of a variant returns the right table, as the lesson's own does. `RATE` stands for the number drawn, in code
and in labels; a drawn text stands for code. The cell of a mistake holds regular expressions with their replacements.
The function with these replacements does what somebody with that misconception expects: it returns the wrong table. A
mistake without a match, or with the right table, does not exist in that variant.

Other exercises need no such file: their variants are new cases.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..cells import BrokenSource, Cell, execute, read_cells
from ..checking.containment.surroundings import undisturbed
from ..checking.exercise import Exercise, seed_of_variant
from ..checking.expected import Expected, expect
from ..exercises import load, path_of
from .needed_code import needed_code
from .source import Lesson, lesson_source

_KEYS = {"variant", "mistake"}


@dataclass(frozen=True)
class Variant:
    """One variant of a table of predictions.

    `program` is the source of its function. `believed` maps a mistake's name to the function that somebody with this
    misconception takes it for.
    """

    program: str
    believed: Mapping[str, str]


@dataclass(frozen=True)
class VariantTable:
    """A variant's program, its right table and those of mistakes.

    `mistaken` is a dict from a mistake's name to its table.
    """

    program: str
    right: Mapping[str, object]
    mistaken: Mapping[str, Mapping[str, object]]

    @property
    def function(self) -> str:
        """The name of the function that returns the table."""
        return _last_function(self.program)

    def stub(self, asks: str, labels: Iterable[str] = ()) -> str:
        """Return the code of the unfinished table called `asks`, with all rows or those of `labels`."""
        rows = "".join(f"    {_quoted(label)}: ...,\n" for label in labels or self.right)
        return f"{asks} = {{\n{rows}}}"


@dataclass(frozen=True)
class Variants:
    """The variants of one table, read from the file `path`.

    `choices` maps a name such as RATE to what is drawn from. `programs` holds a cell for each structure. `beliefs` maps
    a mistake's name to its cell.
    """

    path: Path
    choices: dict[str, list[Any]] = field(default_factory=dict)
    programs: dict[str, Cell] = field(default_factory=dict)
    beliefs: dict[str, Cell] = field(default_factory=dict)

    def draw(self, number: int) -> Variant:
        """Return variant `number`, counted from 1. The structures take turns; the number decides what is drawn.

        Raises BrokenSource if a cell of a mistake holds no dict of texts.
        """
        rng = random.Random(f"{self.path.stem}:{number}")
        drawn = {name: rng.choice(values) for name, values in self.choices.items()}
        plain = [*self.programs.values()][(number - 1) % len(self.programs)].source
        believed = {name: _replaced(plain, self.swaps(name)) for name in self.beliefs}
        filled = {name: _filled(text, drawn) for name, text in believed.items() if text != plain}
        return Variant(_filled(plain, drawn), filled)

    def swaps(self, mistake: str) -> dict[str, str]:
        """Return a dict from regular expression to replacement, of one mistake.

        Raises BrokenSource if its cell holds none.
        """
        cell = self.beliefs[mistake]
        try:
            swaps = ast.literal_eval(cell.source.strip())
            return {str(re.compile(pattern).pattern): str(new) for pattern, new in swaps.items()}
        except (AttributeError, SyntaxError, ValueError, re.error) as error:
            wrong = f"write what the mistake replaces, as a dict from regular expression to text: {error}"
            raise BrokenSource(self.path, cell.line, wrong) from error


def variants_of(exercise: Exercise) -> Variants:
    """Return the variants of a table of predictions. There are none if their file is missing.

    Raises BrokenSource if the file is malformed.
    """
    path = path_of(exercise) / "variants" / f"{exercise.name}.py"
    found = Variants(path)
    for cell in read_cells(path, _KEYS) if path.is_file() else ():
        if name := cell.metadata.get("variant"):
            found.programs[name] = cell
        elif name := cell.metadata.get("mistake"):
            found.beliefs[name] = cell
        else:
            found.choices.update(_choices(path, cell))
    return found


def expect_variant(exercise: Exercise, number: int) -> Expected:
    """Return what solution and mistakes show on variant `number` of an exercise.

    The lesson's solution is run, or for a table the functions of the variant.

    Raises LookupError where the lesson's source is not installed, and BrokenSource if a program cannot be run.
    """
    if table := draw_table(exercise, number):
        return expect(exercise, table.right, table.mistaken, seed_of_variant(number))
    from .execute import run  # with the lessons' mistakes, which a graded process lacks

    with undisturbed([]):
        return run(_source(exercise), load(exercise.lesson), facts=False).expect(exercise, seed_of_variant(number))


def draw_table(exercise: Exercise, number: int) -> VariantTable | None:
    """Return variant `number` of a table of predictions, or None for an exercise without a file of variants.

    Raises what `expect_variant` does.
    """
    variants = variants_of(exercise)
    if not variants.programs:
        return None
    with undisturbed([]):
        return _run_variant(_source(exercise), variants, number)


def _run_variant(lesson: Lesson, variants: Variants, number: int) -> VariantTable:
    """Run the functions of a variant.

    Raises BrokenSource if one cannot be run, or if a mistaken one returns another number of entries.
    """
    variant = variants.draw(number)
    above = "\n\n".join(needed_code(sources_above(lesson, variants.path.stem), "", variant.program))
    right = _table(variants.path, above, variant.program)
    mistaken = {}
    for name, program in variant.believed.items():
        found = _table(variants.path, above, program)
        if len(found) != len(right):
            raise BrokenSource(variants.path, variants.beliefs[name].line, "its table has another number of entries")
        # The replacement may have changed labels, too.
        table = found if found.keys() == right.keys() else dict(zip(right, found.values()))
        if table != right:
            mistaken[name] = table
    return VariantTable(variant.program, right, mistaken)


def sources_above(lesson: Lesson, exercise: str) -> list[str]:
    """Return the code that a learner sees above the answer to an exercise, without answers and checks."""
    cells = lesson.cells[: lesson.cells.index(lesson.of("answer", exercise)[0])]
    return [cell.source for cell in cells if cell.kind == "code" and not (cell.role or cell.is_fact)]


def _quoted(label: str) -> str:
    return f"'{label}'" if '"' in label else f'"{label}"'


def _choices(path: Path, cell: Cell) -> dict[str, list[Any]]:
    namespace: dict[str, Any] = {}
    execute(path, cell, namespace)
    return {name: value for name, value in namespace.items() if isinstance(value, list)}


def _replaced(text: str, swaps: Mapping[str, str]) -> str:
    for pattern, new in swaps.items():
        text = re.sub(pattern, new, text, flags=re.M)
    return text


def _filled(text: str, drawn: Mapping[str, Any]) -> str:
    for name, value in drawn.items():
        code = value if isinstance(value, str) else repr(value)
        text = re.sub(rf"\b{name}\b", code.replace("\\", r"\\"), text)
    return text


def _table(path: Path, above: str, program: str) -> dict[str, object]:
    """Run the last function of a program, below the code `above`, and return its table."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cell = Cell("code", f"{above}\n\n{program}\n\ntable = {_last_function(program)}()", {}, 0)
    execute(path, cell, namespace)
    return dict(namespace["table"])


def _last_function(program: str) -> str:
    return [each.name for each in ast.parse(program).body if isinstance(each, ast.FunctionDef)][-1]


def _source(exercise: Exercise) -> Lesson:
    if lesson := lesson_source(exercise.lesson):
        return lesson
    raise LookupError(f"no source of the lesson {exercise.lesson} is installed")
