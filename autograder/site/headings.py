"""Headings of a page, with the same ids in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..cells import BrokenSource
from ..lessons.source import Lesson

_HEADING = re.compile(r"<h([1-6])[^>]*>(.*?)</h\1>", re.S)
_LINE = re.compile(r"^#{1,6} (.+)$", re.M)
_FENCED = re.compile(r"^```.*?^```", re.M | re.S)
_LINK = re.compile(r"</?a\b[^>]*>")
_NAMED = re.compile(r"^(?:Question )?`(\w+)`$")


@dataclass(frozen=True)
class Heading:
    """A heading of a page: level, id, and text as HTML."""

    level: int
    id: str
    html: str


def places(lesson: Lesson) -> list[str]:
    """Return the id of each heading of a lesson in order: the exercise's name, or words of the English heading.

    Raises BrokenSource if the Russian prose has another number of headings.
    """
    english, russian = (list(_headings(lesson, language)) for language in ("en", "ru"))
    if len(english) != len(russian):
        wrong = f"{len(english)} English and {len(russian)} Russian headings: a page could not switch at a section"
        raise BrokenSource(lesson.path, 1, wrong)
    found: list[str] = []
    for text in english:
        named = _NAMED.match(text)
        id = named[1] if named else slug(text)
        found.append(id if id not in found else f"{id}-{len(found)}")
    return found


def slug(text: str) -> str:
    """Return the words of an English heading as an id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _headings(lesson: Lesson, language: str) -> Iterator[str]:
    for cell in lesson.cells:
        if cell.kind == "markdown" and cell.language == language and not cell.role:
            yield from _LINE.findall(_FENCED.sub("", cell.source))


def with_places(html: str, ids: Iterator[str]) -> tuple[str, list[Heading]]:
    """Return HTML whose headings have the next of `ids`, and these headings."""
    found: list[Heading] = []

    def place(match: re.Match[str]) -> str:
        heading = Heading(int(match[1]), next(ids), match[2])
        found.append(heading)
        return f'<h{heading.level} id="{heading.id}">{heading.html}</h{heading.level}>'

    return _HEADING.sub(place, html), found


def listed_headings(headings: Iterable[Heading]) -> list[Heading]:
    """Return the headings that the contents of a page list: all below the title, down to exercises.

    They hold no links of their own, because each is inside a link.
    """
    return [replace(each, html=_LINK.sub("", each.html)) for each in headings if each.level in (2, 3)]
