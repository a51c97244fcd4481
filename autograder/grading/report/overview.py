"""The page on the whole course: assignments, and students who are stuck."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...checking.card_layout import inline
from ...language import Text
from ...messages.report import WORDS
from .counts import Graded
from .themes import TITLES, Stuck, by_student, stuck_students

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates" / "report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Overview:
    """The data and functions that the template of the course's page uses.

    `pages` maps file names to the data of the assignments' pages.
    """

    def __init__(self, pages: Mapping[str, Graded], language: str) -> None:
        self.pages, self.language = pages, language
        self.words = {name: text.read(language) for name, text in WORDS.items()}

    def html(self) -> str:
        return ENVIRONMENT.get_template("overview.html.j2").render(page=self, words=self.words)

    def title(self, graded: Graded) -> str:
        titles = [lesson.titles().get(self.language, "") for lesson in graded.lessons]
        return ", ".join(filter(None, titles)) or graded.assignment

    def mean(self, graded: Graded) -> str:
        text = f"{round(statistics.mean(graded.scores.values()), 1):g}" if graded.scores else "·"
        return text.replace(".", ",") if self.language == "ru" else text

    def stuck(self) -> Mapping[str, list[Stuck]]:
        return by_student(stuck_students(list(self.pages.values())))

    def student(self, id: str) -> str:
        name = next((graded.names[id] for graded in self.pages.values() if graded.names.get(id)), "")
        return f"{name} ({id})" if name else id

    def theme(self, stuck: Stuck) -> Markup:
        return self.inline(TITLES[stuck.theme])

    def page_of(self, assignment: str) -> str:
        """Return the file name of an assignment's page."""
        return next(name for name, graded in self.pages.items() if graded.assignment == assignment)

    def inline(self, text: Text) -> Markup:
        """Return a sentence with code and formulas as HTML."""
        return Markup(inline(text.read(self.language)))
