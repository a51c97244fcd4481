"""The verdict on an answer: one record, its JSON form, and the doors to its text and HTML forms (`card`).

The record holds ids and parameters; sentences are chosen when it is read, so a stored verdict can be shown in either
language. Its `repr` is the earned points as a plain number, because that is what nbgrader reads from a graded cell.
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
    """The first thing that is not right: on which case, what was called, and what came back."""

    aspect: str = ""
    seed: str = ""
    case: int = 0
    called: str = ""
    inputs: str = ""
    got: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What `check` returns and a gradebook stores. `state` is one of `STATES`."""

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
        """Return the share of the maximum that was earned, as points out of `worth`, to two decimals."""
        return round(worth * self.points / self.maximum, 2) if self.maximum else 0.0

    def __repr__(self) -> str:
        return f"{self.points:g}"

    def __str__(self) -> str:
        return self.text(self.language)

    def text(self, language: str | None) -> str:
        """The card as plain text, in `language` or (None) in both."""
        from .card import cards  # a card says more than a record needs

        return "\n\n".join(card.text() for card in cards(self, language))

    def html(self, language: str | None) -> str:
        """The card as escaped HTML without a script, in `language` or (None) in both."""
        from .card import cards

        return "".join(card.html() for card in cards(self, language))

    def _repr_html_(self) -> str:
        return self.html(self.language)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {MIME: self.to_json()}

    def to_json(self) -> dict[str, Any]:
        """The whole record as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_json` wrote. Raises KeyError or TypeError for anything else."""

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
