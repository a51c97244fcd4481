"""English and Russian: `Text`, `Note`, and sentences looked up by id.

A stored verdict or progress file holds ids and parameters. The sentence is chosen when the record is displayed.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

LANGUAGES = ("en", "ru")


class Text(NamedTuple):
    """One sentence in English and in Russian. Both have the same `{placeholders}`."""

    en: str
    ru: str

    @classmethod
    def same(cls, text: str) -> Text:
        """Return a text that is the same in both languages, such as code."""
        return cls(text, text)

    def format(self, **parameters: object) -> Text:
        return Text(self.en.format(**parameters), self.ru.format(**parameters))

    def read(self, language: str | None) -> str:
        """Return the sentence in `language`.

        If `language` is None, return English and Russian on two lines, or one line if both are the same.
        """
        if language is None:
            return self.en if self.en == self.ru else f"{self.en}\n{self.ru}"
        return str(getattr(self, language))

    def placeholders_agree(self) -> bool:
        return _placeholders(self.en) == _placeholders(self.ru)


def _placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@dataclass(frozen=True)
class Note:
    """A message as the id of a sentence and its parameters.

    The sentence is looked up when the note is displayed, in English or Russian.
    """

    id: str
    parameters: dict[str, object]

    @property
    def is_error(self) -> bool:
        """True if an answer raised an exception, and the note is about it."""
        return self.id.startswith("raised.")


def grouped(value: float, language: str) -> str:
    """Return a number as text with digit groups: 1,234 in English, 1 234 in Russian.

    Russian also has a decimal comma.
    """
    return f"{value:,}" if language == "en" else f"{value:,}".translate(_RUSSIAN)


_RUSSIAN = str.maketrans({",": "\N{NO-BREAK SPACE}", ".": ","})


def decimal(value: float, language: str) -> str:
    """Return a number with at most two decimals as text: 4.8 in English, 4,8 in Russian."""
    text = f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")  # + 0.0: no negative zero
    return text.replace("-", "−").replace(".", "," if language == "ru" else ".")


def hours_of(minutes: float, language: str) -> str:
    """Return minutes as hours with at most one decimal: 1.3 in English, 1,3 in Russian."""
    return decimal(round(minutes / 60, 1), language)


class Noun(NamedTuple):
    """A noun in the forms that follow numbers.

    English has forms after 1 and 2, Russian after 1, 2 and 5.
    """

    en: tuple[str, str]
    ru: tuple[str, str, str]

    def after(self, number: float) -> Text:
        """Return the form that follows `number`: "point" after 1, "points" after 5."""
        few = number % 1 or (2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14)
        one = number % 10 == 1 and number % 100 != 11
        return Text(self.en[number != 1], self.ru[1 if few else 0 if one else 2])

    def counted(self, number: float, language: str) -> str:
        """Return a number with the noun: "1 point", "5 points"."""
        return f"{number:g} {self.after(number).read(language)}"


EXERCISE = Noun(("exercise", "exercises"), ("упражнение", "упражнения", "упражнений"))
MINUTE = Noun(("minute", "minutes"), ("минута", "минуты", "минут"))
POINT = Noun(("point", "points"), ("балл", "балла", "баллов"))


def quantity(number: float, noun: str) -> str:
    """Return a number with an English noun, for the terminal: "1 page", "2 pages"."""
    return f"{decimal(number, 'en')} {noun}{'' if number == 1 else 's'}"


def with_offset(time: datetime) -> str:
    """Return a time as text, such as "2026-09-17 23:59 (UTC+03:00)". It is the same in both languages.

    For a time without a time zone, the part in brackets is left out.
    """
    offset = f"{time:%z}"
    return f"{time:%Y-%m-%d %H:%M}" + (f" (UTC{offset[:3]}:{offset[3:5]})" if offset else "")


def sentence(words: Mapping[str, Text], id: str, language: str, parameters: Mapping[str, object]) -> str:
    """Return the sentence `id` from `words` in `language`, with `parameters` filled in.

    An int is shown with digit groups.
    Raises KeyError if `words` has no such id.
    """
    said = {name: grouped(value, language) if type(value) is int else value for name, value in parameters.items()}
    return words[id].format(**said).read(language)
