"""Titles and descriptions by which people find the page of an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...explained.entry import Explanation
from ...lessons.summary import readable
from ..blocks import inner, markdown
from .runs import ErrorRun

_LONGEST = 160  # characters of a message or a description
_SENTENCE = re.compile(r"(?<=[.?!]) ")
_CLAUSE = re.compile(r"(?<=[.:?!;]) ")


def error_message(explanation: Explanation, runs: Mapping[str, ErrorRun]) -> str:
    """Return the class and the message of an error as torch words it, as people search for it, in one line."""
    if explanation.met or explanation.name not in runs:
        return _cut(explanation.met or readable(explanation.pattern.pattern))
    told = runs[explanation.name]
    return _cut(f"{told.kind}: {told.text}")


def titles_of(explanations: Sequence[Explanation], runs: Mapping[str, ErrorRun], language: str) -> dict[str, str]:
    """Return a dict from an explanation's name to the title of its page.

    It is the message. Where several explanations have the same, the cause is before it.
    """
    messages = {each.name: error_message(each, runs) for each in explanations}
    count = Counter(messages.values())
    return {
        each.name: f"{cause_of(each, language)} — {text}" if count[text] > 1 else text
        for each, text in zip(explanations, messages.values(), strict=True)
    }


def cause_of(explanation: Explanation, language: str) -> str:
    """Return the first clause of an explanation as plain text."""
    return _clause(explanation, language).replace("`", "")


def about(explanation: Explanation, language: str) -> str:
    """Return the cause of an error as Markdown: as many sentences as a search engine shows, at least one."""
    shown, *more = _SENTENCE.split(explanation.says.read(language))
    for sentence in more:
        if len(shown) + len(sentence) >= _LONGEST:
            break
        shown += f" {sentence}"
    return shown


def first(explanation: Explanation, language: str) -> str:
    """Return the first clause of an explanation as HTML."""
    return _inline(_clause(explanation, language))


@lru_cache(maxsize=2048)  # each is on the pages of its neighbours, too
def _inline(clause: str) -> str:
    return inner(markdown(clause))


def _clause(explanation: Explanation, language: str) -> str:
    return _CLAUSE.split(explanation.says.read(language))[0].rstrip(".:;")


def as_markdown(text: str) -> str:
    """Return text as code in Markdown, which may hold backticks."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
