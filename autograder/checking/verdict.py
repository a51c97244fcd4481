"""Verdicts: a record and its JSON form.

A verdict holds ids and parameters. Sentences are chosen at display, and a stored verdict can therefore be shown in
English or Russian. The `repr` is the earned points as a plain number, because nbgrader reads the points from the cell's
output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ..language import Note

MIME = "application/vnd.autograder.verdict+json"
MEMORY = "differs.memory"  # the id of the note on what the kernel counted: only grading does
SCORE = "card.score"  # the id of the note with a measured figure, that of the plain program and the bound


class VerdictState(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    NOT_YET = "not yet"
    NOT_ATTEMPTED = "not attempted"
    OUR_ERROR = "our error"  # a bug in the checking code, or tampering


class AspectState(StrEnum):
    """The outcome for one aspect.

    An aspect that waits for another one is not judged.
    """

    RIGHT = "right"
    WRONG = "wrong"
    WAITING = "waiting"


@dataclass(frozen=True)
class AspectResult:
    """The result for one aspect: possible points, earned points, state."""

    name: str
    points: float
    earned: float
    state: AspectState


@dataclass(frozen=True)
class Finding:
    """The first case on which an answer is wrong.

    Holds the wrong aspect, the case's seed and number, the call, its inputs, and notes on the result.
    """

    aspect: str = ""
    seed: str = ""
    case: int = 0
    called: str = ""
    inputs: str = ""
    got: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of a check, as a gradebook stores it.

    `version` is the exercise's. `mistake` is the name of the recognised mistake. `language` is the card's, "en" or
    "ru", or None for both.
    """

    exercise: str
    lesson: str
    version: int
    state: VerdictState
    aspects: tuple[AspectResult, ...]
    finding: Finding | None = None
    mistake: str | None = None
    notes: tuple[Note, ...] = ()
    language: str | None = field(default=None, compare=False)

    @property
    def points(self) -> float:
        return sum(aspect.earned for aspect in self.aspects)

    @property
    def maximum(self) -> float:
        return sum(aspect.points for aspect in self.aspects)

    def points_out_of(self, worth: float) -> float:
        """Return the earned points, rescaled as if the exercise were worth `worth` points.

        The result is rounded to two decimals.
        """
        return round(worth * self.points / self.maximum, 2) if self.maximum else 0.0

    def __repr__(self) -> str:
        return f"{self.points:g}"

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_json` wrote.

        Raises KeyError, TypeError or ValueError if the data is in another form.
        """

        def notes(items: list[dict[str, Any]]) -> tuple[Note, ...]:
            return tuple(Note(**item) for item in items)

        def aspect(item: dict[str, Any]) -> AspectResult:
            return AspectResult(**{**item, "state": AspectState(item["state"])})

        finding = data["finding"]
        return cls(
            **{
                **data,
                "state": VerdictState(data["state"]),
                "aspects": tuple(map(aspect, data["aspects"])),
                "finding": finding and Finding(**{**finding, "got": notes(finding["got"])}),
                "notes": notes(data["notes"]),
            }
        )
