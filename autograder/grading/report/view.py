"""The common part of the report's pages."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from html import unescape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...language import Text, decimal, with_offset
from ...lessons.mathml import to_mathml
from ...look import LOOK
from ...messages.markup import inline
from ...messages.report import WORDS
from ..class_counts.counts import Graded

_FORMULA = re.compile(r"\$([^$<]+)\$")
ENVIRONMENT = Environment(
    loader=FileSystemLoader([Path(__file__).parents[1] / "templates" / "report", LOOK]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class View:
    """The functions that all templates of the report use.

    The templates escape every str. A result of the type Markup is already safe HTML.
    """

    def __init__(self, language: str, zone: tzinfo) -> None:
        self.language, self._zone = language, zone
        self.words = {name: text.read(language) for name, text in WORDS.items()}

    def title_of(self, graded: Graded) -> str:
        """Return the titles of an assignment's lessons. If it has no lessons, return the assignment's name."""
        titles = [lesson.titles().get(self.language, "") for lesson in graded.lessons]
        return ", ".join(filter(None, titles)) or graded.assignment

    @property
    def made(self) -> str:
        """The sentence on when the page was made."""
        return self.words["made"].format(when=with_offset(datetime.now(self._zone)))

    def number(self, value: float) -> str:
        return decimal(round(value, 1), self.language)

    def late(self, graded: Graded) -> str:
        """Return a sentence on the late penalties of an assignment, or "" if there are none."""
        owed = [points for points in graded.penalties.values() if points]
        return self.words["late"].format(count=len(owed), points=decimal(sum(owed), self.language)) if owed else ""

    def preliminary(self, graded: Graded) -> str:
        """Return a sentence on submissions that wait for points from a person, or "" if there are none."""
        lacking = {student for students in graded.waiting.values() for student in students}
        count, total = len(lacking & graded.scores.keys()), len(graded.scores)
        return self.words["preliminary"].format(count=count, total=total) if count else ""

    def inline(self, text: Text) -> Markup:
        """Return a sentence with code and formulas as HTML."""
        shown = inline(text.read(self.language))
        return Markup(_FORMULA.sub(lambda found: to_mathml(unescape(found[1]), block=False), shown))


def named(names: dict[str, str], id: str) -> str:
    """Return a student's name and id, or the id alone. `names` maps ids to names."""
    name = names.get(id)
    return f"{name} ({id})" if name and name != id else id
