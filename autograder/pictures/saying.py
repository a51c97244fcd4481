"""How a picture says things: a sentence in one language, and whole numbers as this language writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..language import Text, grouped
from ..learner.records import being_graded


def text_is_enough() -> bool:
    """While a notebook is graded, a picture is its text: drawing takes longer than all checks, for each of a class."""
    return being_graded() == "autograde"


def sentence(words: Mapping[str, Text], id: str, language: str, parameters: Mapping[str, object]) -> str:
    """The sentence `id` of `words` in `language`, ints among its parameters written as `grouped` does.

    Raises KeyError for an id that does not exist.
    """
    said = {name: grouped(value, language) if type(value) is int else value for name, value in parameters.items()}
    return words[id].format(**said).read(language)


def error_said(error: BaseException) -> str:
    """The kind of an error and its message, if it has one, on one line."""
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def shape(sizes: Sequence[int]) -> str:
    """A shape as torch writes it."""
    return str(tuple(int(size) for size in sizes))
