"""The course's two languages: `Text`, `Note`, and sentences by id.

Records (verdicts, progress) store ids and parameters. The sentence is chosen when a record is displayed. Texts of an
exercise are part of its module.
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
        """Return the sentence in `language`, or in both languages, one per line, if it is None."""
        if language is None:
            return self.en if self.en == self.ru else f"{self.en}\n{self.ru}"
        return str(getattr(self, language))

    def placeholders_agree(self) -> bool:
        return _placeholders(self.en) == _placeholders(self.ru)


def _placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@dataclass(frozen=True)
class Note:
    """A stored message: the id of a sentence and its parameters.

    It is plain data in no language.
    """

    id: str
    parameters: dict[str, object]


def grouped(value: float, language: str) -> str:
    """Format a number with digit groups: 1,234 in English, 1 234 in Russian, which uses a decimal comma."""
    return f"{value:,}" if language == "en" else f"{value:,}".translate(_RUSSIAN)


_RUSSIAN = str.maketrans({",": "\N{NO-BREAK SPACE}", ".": ","})


def sentence(words: Mapping[str, Text], id: str, language: str, parameters: Mapping[str, object]) -> str:
    """Return the sentence `id` of `words` in `language`, with int parameters formatted by `grouped`.

    Raises KeyError for an unknown id.
    """
    said = {name: grouped(value, language) if type(value) is int else value for name, value in parameters.items()}
    return words[id].format(**said).read(language)
