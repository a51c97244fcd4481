"""The two languages of the course: `Text`, a sentence in both, and every sentence of the interface by its id.

Records (verdicts, progress) store ids and parameters; the sentence is chosen when somebody reads it. Texts of
exercises live beside the exercise; this file holds what all exercises share.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

LANGUAGES = ("en", "ru")


class Text(NamedTuple):
    """One sentence in English and in Russian, with the same `{placeholders}` in both."""

    en: str
    ru: str

    def format(self, **parameters: object) -> Text:
        return Text(self.en.format(**parameters), self.ru.format(**parameters))

    def read(self, language: str | None) -> str:
        """The sentence in `language`; in both, one under the other, when the language is not known (None)."""
        if language is None:
            return self.en if self.en == self.ru else f"{self.en}\n{self.ru}"
        return str(getattr(self, language))

    def placeholders_agree(self) -> bool:
        return _placeholders(self.en) == _placeholders(self.ru)


def _placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@dataclass(frozen=True)
class Note:
    """Something to say, as it is stored: the id of a sentence and its parameters, plain data in no language."""

    id: str
    parameters: dict[str, object]


def grouped(value: float, language: str) -> str:
    """1,234 in English; 1 234 in Russian, which writes decimals with a comma."""
    return f"{value:,}" if language == "en" else f"{value:,}".translate(_RUSSIAN)


_RUSSIAN = str.maketrans({",": "\N{NO-BREAK SPACE}", ".": ","})


def sentence(words: Mapping[str, Text], id: str, language: str, parameters: Mapping[str, object]) -> str:
    """The sentence `id` of `words` in `language`, ints among its parameters written as `grouped` does.

    Raises KeyError for an id that does not exist.
    """
    said = {name: grouped(value, language) if type(value) is int else value for name, value in parameters.items()}
    return words[id].format(**said).read(language)
