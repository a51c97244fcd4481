"""The common part of the report's pages."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...checking.card_layout import inline
from ...language import Text
from ...messages.report import WORDS
from .counts import Graded

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates" / "report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class View:
    """The functions that all templates of the report use, in one language.

    The templates escape every str. A result of the type Markup is already safe HTML.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.words = {name: text.read(language) for name, text in WORDS.items()}

    def title_of(self, graded: Graded) -> str:
        """Return the titles of an assignment's lessons, or else its name."""
        titles = [lesson.titles().get(self.language, "") for lesson in graded.lessons]
        return ", ".join(filter(None, titles)) or graded.assignment

    def number(self, value: float) -> str:
        return self.localized(f"{round(value, 1):g}")

    def localized(self, number: str) -> str:
        """Return a number as text, with the decimal sign of the language."""
        return number.replace(".", ",") if self.language == "ru" else number

    def inline(self, text: Text) -> Markup:
        """Return a sentence with code and formulas as HTML."""
        return Markup(inline(text.read(self.language)))


def named(names: dict[str, str], id: str) -> str:
    """Return a student's name and id, or the id alone. `names` maps ids to names."""
    name = names.get(id)
    return f"{name} ({id})" if name else id
