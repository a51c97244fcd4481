"""Verdicts: a record, its JSON form, and access to its card.

The record holds ids and parameters. Sentences are chosen when it is displayed, so a stored verdict can be shown in
either language. Its `repr` is the earned points as a plain number, because nbgrader reads that from a graded cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..language import Note

STATES = ("passed", "not yet", "not attempted", "our error")
MIME = "application/vnd.autograder.verdict+json"


@dataclass(frozen=True)
class AspectResult:
    """One aspect of an answer: "right", "wrong", or "waiting" for another aspect."""

    name: str
    points: float
    earned: float
    state: str


@dataclass(frozen=True)
class Finding:
    """The first difference: its case, the call, and the result."""

    aspect: str = ""
    seed: str = ""
    case: int = 0
    called: str = ""
    inputs: str = ""
    got: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The result of `check`, which a gradebook stores.

    `state` is one of `STATES`.
    """

    exercise: str
    lesson: str
    version: int
    state: str
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
        """Return the earned share of the maximum as points out of `worth`, rounded to two decimals."""
        return round(worth * self.points / self.maximum, 2) if self.maximum else 0.0

    def __repr__(self) -> str:
        return f"{self.points:g}"

    def __str__(self) -> str:
        return self.text(self.language)

    def text(self, language: str | None) -> str:
        """Return the card as plain text, in `language`, or in both languages if it is None."""
        from .card_layout import cards  # imported here because a card needs more than a record does

        return "\n\n".join(card.text() for card in cards(self, language))

    def html(self, language: str | None) -> str:
        """Return the card as escaped HTML without scripts, in `language`, or in both languages if it is None."""
        from .card_layout import cards

        return "".join(card.html() for card in cards(self, language))

    def _repr_html_(self) -> str:
        return self.html(self.language)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {MIME: self.to_json()}

    def to_json(self) -> dict[str, Any]:
        """Return the whole record as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_json` wrote. Raises KeyError or TypeError for anything else."""

        def notes(items: list[dict[str, Any]]) -> tuple[Note, ...]:
            return tuple(Note(**item) for item in items)

        finding = data["finding"]
        return cls(
            **{
                **data,
                "aspects": tuple(AspectResult(**item) for item in data["aspects"]),
                "finding": finding and Finding(**{**finding, "got": notes(finding["got"])}),
                "notes": notes(data["notes"]),
            }
        )
