"""Verdicts: a record, its JSON form, and its display as a card.

A verdict holds ids and parameters. Sentences are chosen at display, and a stored verdict can therefore be shown in
English or Russian. The `repr` is the earned points as a plain number, because nbgrader reads the points from the cell's
output.
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
    """The result for one aspect: possible points, earned points, state.

    The state is "right", "wrong", or "waiting" if another aspect must be right first.
    """

    name: str
    points: float
    earned: float
    state: str


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

    `state` is one of `STATES`, `mistake` the name of the recognised mistake.
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
        """Return the earned points, rescaled as if the exercise were worth `worth` points.

        The result is rounded to two decimals.
        """
        return round(worth * self.points / self.maximum, 2) if self.maximum else 0.0

    def __repr__(self) -> str:
        return f"{self.points:g}"

    def __str__(self) -> str:
        return self.text(self.language)

    def text(self, language: str | None) -> str:
        """Return the card as plain text in `language`, or in English and Russian if `language` is None."""
        from .card_layout import cards  # imported here because a card needs more than a record does

        return "\n\n".join(card.text() for card in cards(self, language))

    def html(self, language: str | None) -> str:
        """Return the card as escaped HTML without scripts.

        If `language` is None, return one card in English and one in Russian.
        """
        from .card_layout import cards

        return "".join(card.html() for card in cards(self, language))

    def _repr_html_(self) -> str:
        return self.html(self.language)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {MIME: self.to_json()}

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_json` wrote.

        Raises KeyError or TypeError if the data is in another form.
        """

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
