"""Contracts of exercises: given, result, left alone, not allowed.

A contract is a list in the prose of a lesson source, below the heading of its exercise:

    # **Return twice `x`.**
    #
    # * **Given.** `x`, a float64 tensor.
    # * **Result.** Twice `x`. <!-- value -->
    # * **Leave.** `x` as it is. <!-- x -->
    # * **Not allowed.** A loop. <!-- no aspect: no case is large enough -->

The sentence above the list is bold, and says what the exercise is about; a learner opens the list by a click. The
comment at the end of a line names the aspects that check it, or says why none does. A line of what is given needs
no comment: the cases hold it. Students do not see the comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ...language import LANGUAGES, Text
from ...messages.lessons import say
from ...messages.markup import folded
from ..source import Lesson

# nbgrader's config imports this module, and needs no torch.
if TYPE_CHECKING:
    from ...checking.exercise import Exercise

_NO_ASPECT = "no aspect: "
_LABELLED = re.compile(r"\* \*\*(?P<label>[^*\n]+)\.\*\* ", re.M)
_COMMENT = re.compile(r" <!-- (?P<said>[^\n]*?) -->$", re.M)


# The heading of an exercise, perhaps with the line under it, a paragraph that begins in bold, and the rest.
_OPENED = re.compile(
    r"(?P<shown>^### [^\n]*`\w+`[^\n]*\n(?:[^\n]+\n)?\n\*\*[^\n]+)\n\n(?P<folded>.+?)(?=\n#+ |\Z)", re.M | re.S
)


class Part(StrEnum):
    """The label of a line in a contract."""

    GIVEN = "Given"
    RESULT = "Result"
    LEAVE = "Leave"
    NOT_ALLOWED = "Not allowed"

    @property
    def label(self) -> Text:
        return _LABELS[self]


_LABELS = {
    Part.GIVEN: Text("Given", "Дано"),
    Part.RESULT: Text("Result", "Результат"),
    Part.LEAVE: Text("Leave", "Не менять"),
    Part.NOT_ALLOWED: Text("Not allowed", "Нельзя"),
}


_SAID_ONCE = {*_LABELS[Part.GIVEN], *_LABELS[Part.RESULT]}


@dataclass(frozen=True)
class Line:
    """One line of a contract.

    `tie` is the text of its comment, or None.
    """

    part: Part
    tie: str | None

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the aspects that check the line."""
        return () if self.tie is None or self.tie.startswith(_NO_ASPECT) else tuple(self.tie.split(", "))


def read_contract(lesson: Lesson, exercise: str, language: str) -> list[Line]:
    """Return the lines of an exercise's contract in `language`. The list is empty if it is written as plain prose."""
    prose = "\n".join(cell.source for cell in lesson.cells if cell.language == language)
    below = re.search(rf"^### .*`{exercise}`.*\n((?:(?!#).*(?:\n|\Z))*)", prose, re.M)
    labels = {part.label.read(language): part for part in Part}
    found = re.finditer(rf"^{_LABELLED.pattern}(?P<says>.*)$", below[1] if below else "", re.M)
    lines = []
    for each in found:
        comment = _COMMENT.search(each["says"])
        if each["label"] in labels:
            lines.append(Line(labels[each["label"]], comment["said"] if comment else None))
    return lines


def as_students_see(prose: str) -> str:
    """Return the prose of a lesson without the comments of its contracts.

    A label that the line above has, too, is left out. One that forbids something is repeated: a line without it would
    read as a demand.
    """
    before = ""
    lines = []
    for line in _COMMENT.sub("", prose).split("\n"):
        found = _LABELLED.match(line)
        label = found["label"] if found else ""
        repeated = label == before and label in _SAID_ONCE
        lines.append(f"* {line[found.end() :]}" if found and repeated else line)
        before = label
    return "\n".join(lines)


def with_folded_conditions(prose: str, language: str) -> str:
    """Return prose in which a contract shows its first sentence, and the rest after a click on "Exact conditions".

    A contract whose first paragraph is not bold stays as it is.
    """
    summary = say("conditions", language)

    def fold(found: re.Match[str]) -> str:
        return f"{found['shown']}\n\n{folded(summary, found['folded'])}"

    return _OPENED.sub(fold, prose)


def statement_of(lesson: Lesson, exercise: str) -> str:
    """Return the English prose between the heading of an exercise and its answer, or "" without such a heading."""
    heading = f"### `{exercise}`\n"
    found: list[str] = []
    for cell in lesson.cells:
        if cell.role and cell.role[1] == exercise:
            break
        if cell.kind == "markdown" and cell.language == "en" and (found or heading in cell.source):
            found.append(cell.source if found else cell.source.partition(heading)[2])
    return "\n\n".join(found).strip()


def shown_words(lesson: Lesson, exercise: str) -> int:
    """Return how many English words of a contract a learner sees before opening the exact conditions."""
    statement = statement_of(lesson, exercise)
    return len((statement.partition("\n\n")[0] if statement.startswith("**") else statement).split())


def contract_problems(lesson: Lesson, exercises: dict[str, Exercise]) -> Iterator[str]:
    """Yield a complaint for each aspect that no line names, and for each line that nothing checks.

    If one exercise of a lesson has a contract, all have but tables of predictions and withdrawn ones.
    """
    judged = [each for each in exercises.values() if each.asks_for != "dict" and not each.withdrawn]
    contracts = {(each.name, one): read_contract(lesson, each.name, one) for each in judged for one in LANGUAGES}
    if not any(contracts.values()):
        return
    for exercise in judged:
        english, russian = (contracts[exercise.name, language] for language in LANGUAGES)
        if english != russian:
            yield f"{exercise.name}: its contract in Russian has other labels or comments than in English"
        yield from _problems(exercise, english)


def _problems(exercise: Exercise, lines: list[Line]) -> Iterator[str]:
    known = {aspect.name for aspect in exercise.aspects}
    named = {name for line in lines for name in line.aspects}
    for aspect in exercise.aspects:
        if aspect.name not in named:
            yield f"{exercise.name}: no line of its contract names the aspect {aspect.name}"
    for name in sorted(named - known):
        yield f"{exercise.name}: its contract names the aspect {name}, which it has not"
    for number, line in enumerate(lines, 1):
        if line.tie is None and line.part != Part.GIVEN:
            comment = f"`<!-- ASPECT -->` or `<!-- {_NO_ASPECT}WHY -->`"
            yield f"{exercise.name}: end line {number} of its contract with {comment}"
