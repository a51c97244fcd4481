"""Sections of a lesson, and the minutes that they take.

A section begins with a heading of the second level. The core of a lesson ends with the section on what to keep; what
stands below is extra.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from ...cells import Cell
from ...language import EXERCISE, LANGUAGES, MINUTE, Noun, Text
from ...messages.lessons import say
from ..source import Lesson, without_solution
from .contracts import statement_of

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ...checking.exercise import Exercise

KEEP = Text("## What to keep", "## Что стоит запомнить")
RECALL = 2  # minutes for the questions on what a lesson builds on
LONG = 50  # minutes of a core that needs a place to stop

_SECTION, _EXERCISE = re.compile(r"^## ", re.M), re.compile(r"^### `", re.M)
_WORDS, _LINES = 200, 12  # of prose and of code, read in a minute
_CONTRACT = 100  # words of a contract, read in a minute: most of it is read twice


@dataclass(frozen=True)
class Section:
    """A section of a lesson.

    `start` is the index of its first cell, `minutes` what a learner needs for its text and exercises.
    """

    start: int
    cells: Sequence[Cell]
    minutes: float
    is_core: bool


def sections_of(lesson: Lesson, exercises: Mapping[str, Exercise]) -> list[Section]:
    """Return the sections of a lesson, in order. What stands above the first heading is a section, too.

    A lesson of an instructor may have no section on what to keep: its core ends with the last exercise that counts.
    """
    starts = [0, *(index for index, cell in enumerate(lesson.cells) if index and begins_section(cell))]
    texts = [lesson.cells[a:b] for a, b in zip(starts, [*starts[1:], len(lesson.cells)])]
    keep = [place for place, cells in enumerate(texts) if _tells_what_to_keep(cells[0])]
    counting = [place for place, cells in enumerate(texts) if any(_counts(cell, exercises) for cell in cells)]
    last = (keep or counting or [len(texts)])[-1]
    minutes = _minutes_by_cell(lesson, exercises)
    return [
        Section(start, cells, sum(minutes[start : start + len(cells)]), place <= last)
        for place, (start, cells) in enumerate(zip(starts, texts))
    ]


def lesson_minutes(lesson: Lesson, exercises: Mapping[str, Exercise]) -> tuple[int, int]:
    """Return the minutes that a learner needs for the core of a lesson, and those for the rest."""
    sections = sections_of(lesson, exercises)
    core, extra = (round(sum(each.minutes for each in sections if each.is_core == flag)) for flag in (True, False))
    return core + (RECALL if lesson.needs else 0), extra


def exercise_minutes(lesson: Lesson, exercise: Exercise) -> int:
    """Return the minutes that an exercise takes whoever meets it for the first time.

    They are the sum of four parts: the words of the contract by 100; the lines of given code by 12; a minute for each
    line to write or mend, two in a design; and for all tries 4, 8 or 16 minutes with one, two or three dots. An entry
    of a table takes a minute, without tries.

    Fitted to twenty protocols, ten exercises with two learners each: in sum 1 % above them, 6 minutes off on average.
    """
    answer = next((cell for cell in lesson.of("answer", exercise.name)), None)
    if answer is None:
        return 0
    given = next((cell.source for cell in lesson.of("given", exercise.name)), None)
    stub = _code(without_solution(answer.source) or "" if given is None else given)
    solution = _code(answer.source)
    same = difflib.SequenceMatcher(None, stub, solution, autojunk=False).get_matching_blocks()
    written = len(solution) - sum(match.size for match in same)
    words = len(statement_of(lesson, exercise.name).split())
    is_table = exercise.asks_for == "dict"
    tries = 0 if is_table else 2 ** (exercise.difficulty + 1)
    each = 2 if exercise.kind == "design" else 1
    return round(words / _CONTRACT + len(stub) / _LINES + each * written + tries)


def notes_between(lesson: Lesson, exercises: Mapping[str, Exercise]) -> dict[int, Text]:
    """Return a dict from the index of a cell to the note that stands above it.

    One note marks the end of the core, another the place to stop in a long one: the place nearest to its middle.
    """
    sections = sections_of(lesson, exercises)
    core, extra = ([each for each in sections if each.is_core == flag] for flag in (True, False))
    found = {}
    total = sum(each.minutes for each in core)
    if lesson_minutes(lesson, exercises)[0] > LONG:
        passed = _minutes_before(lesson, exercises, sum(len(each.cells) for each in core))
        start = min(passed, key=lambda start: abs(passed[start] - total / 2))
        found[start] = _note("stop", done=(passed[start], MINUTE), left=(total - passed[start], MINUTE))
    if names := [name for section in extra for name in _checked(section.cells)]:
        minutes = sum(each.minutes for each in extra)
        found[extra[0].start] = _note("end", exercises=(len(names), EXERCISE), minutes=(minutes, MINUTE))
    return found


def _minutes_before(lesson: Lesson, exercises: Mapping[str, Exercise], end: int) -> dict[int, float]:
    """Return a dict from the index of each cell before `end` at which one can stop to the minutes above it.

    Such a cell begins with a heading, or stands behind a check and explains nothing about its exercise.
    """
    above = accumulate(_minutes_by_cell(lesson, exercises), initial=0.0)
    return {
        index: minutes
        for index, (cell, minutes) in enumerate(zip(lesson.cells[:end], above))
        if cell.kind == "markdown" and cell.language == "en" and "explains" not in cell.metadata
        if cell.source.startswith("##") or _is_behind_check(lesson.cells[:index])
    }


def _is_behind_check(cells: Sequence[Cell]) -> bool:
    shown = [cell for cell in cells if not cell.is_fact]
    return bool(shown) and bool(_checked(shown[-1:]))


def _note(id: str, **counts: tuple[float, Noun]) -> Text:
    """Return a note in both languages. `counts` holds numbers and what they count."""
    said = ({name: noun.counted(round(number), each) for name, (number, noun) in counts.items()} for each in LANGUAGES)
    return Text(*(say(id, language, **words) for language, words in zip(LANGUAGES, said)))


def misplaced(lesson: Lesson, exercises: Mapping[str, Exercise]) -> Iterator[str]:
    """Yield the name of each exercise that counts and stands behind the core, or is extra and stands in it.

    Without a section on what to keep, nothing is misplaced.
    """
    if any(map(_tells_what_to_keep, lesson.cells)):
        for section in sections_of(lesson, exercises):
            yield from (name for name in _checked(section.cells) if exercises[name].core != section.is_core)


def begins_section(cell: Cell) -> bool:
    """Return whether a cell holds a heading of the second level, in English."""
    return cell.kind == "markdown" and cell.language != "ru" and bool(_SECTION.search(cell.source))


def _tells_what_to_keep(cell: Cell) -> bool:
    return cell.source.splitlines()[:1] == [KEEP.en]


def _counts(cell: Cell, exercises: Mapping[str, Exercise]) -> bool:
    role, name = cell.role or ("", "")
    return role == "written" or (role == "check" and name in exercises and exercises[name].core)


def _checked(cells: Sequence[Cell]) -> list[str]:
    return [cell.role[1] for cell in cells if cell.role and cell.role[0] == "check"]


def _minutes_by_cell(lesson: Lesson, exercises: Mapping[str, Exercise]) -> list[float]:
    """Return the minutes that each cell takes. An exercise stands with its check, its contract included.

    Read are the English prose and the code that is shown.
    """
    found, in_contract = [], False
    for cell in lesson.cells:
        role, name = cell.role or ("", "")
        in_contract = in_contract and not role
        minutes = 0.0
        if role == "check" and name in exercises:
            minutes = exercise_minutes(lesson, exercises[name])
        elif role == "written":
            minutes = cell.metadata.get("minutes", 0)
        elif role or cell.is_fact or cell.language == "ru":
            pass
        elif cell.kind == "code":
            minutes = 0 if cell.is_folded else len(_code(cell.source)) / _LINES
        elif not in_contract:
            above, *contract = _EXERCISE.split(cell.source, maxsplit=1)
            minutes, in_contract = len(above.split()) / _WORDS, bool(contract)
        found.append(minutes)
    return found


def _code(source: str) -> list[str]:
    """Return the lines of code, without blank ones and comments."""
    lines = (line.strip() for line in source.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
