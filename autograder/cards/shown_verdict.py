"""A verdict that a notebook shows as a card."""

from __future__ import annotations

from .. import exercises
from ..checking.verdict import MIME, Verdict
from ..language import LANGUAGES
from .card import Card
from .layout import as_html, as_text


class ShownVerdict(Verdict):
    """A verdict that `check` returns.

    The notebook shows it as a card, and nbgrader reads it as a number.
    """

    @classmethod
    def of(cls, verdict: Verdict) -> ShownVerdict:
        return cls(**vars(verdict))

    def text(self, language: str | None) -> str:
        """Return the card as plain text in `language`, or in English and Russian if `language` is None."""
        return "\n\n".join(map(as_text, self._cards(language)))

    def html(self, language: str | None) -> str:
        """Return the card in `language` as HTML without scripts, with all texts escaped.

        If `language` is None, return one card in English and one in Russian.
        """
        return "".join(map(as_html, self._cards(language)))

    def _cards(self, language: str | None) -> list[Card]:
        exercise = exercises.find(self.exercise, self.lesson)
        return [Card(self, exercise, one) for one in (LANGUAGES if language is None else (language,))]

    def __str__(self) -> str:
        return self.text(self.language)

    def _repr_html_(self) -> str:
        return self.html(self.language)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {MIME: self.to_json()}
