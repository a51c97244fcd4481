"""The question for a lecture as a page to project."""

from __future__ import annotations

import math
from datetime import tzinfo

from ..view import ENVIRONMENT, View
from .question import Question

_LONGEST_SHORT = 36  # characters of choices that are shown in the largest type
_LARGEST = 1.65  # size of other choices, in hundredths of the screen's width
_ROOM = 31  # size of a choice of one character that fills its part of the screen


class Projected(View):
    """The data and functions that the template of the page uses.

    The page has two screens: the question, and below it the answer. It names no student.
    """

    def __init__(self, question: Question, title: str, language: str, zone: tzinfo) -> None:
        super().__init__(language, zone)
        self.question, self.title = question, title
        self._lengths = [len(each.read(language)) for each in question.choices]

    def html(self) -> str:
        return ENVIRONMENT.get_template("project.html.j2").render(
            page=self, words=self.words, question=self.question, letters="ABCDEF"
        )

    @property
    def sizes(self) -> str:
        """The variables of CSS on which sizes of type depend: lines and columns of the program, long choices."""
        size = min(_LARGEST, _ROOM / math.sqrt(sum(self._lengths)))
        return f"--lines: {self.question.lines}; --columns: {self.question.columns}; --choice: {size:.2f}"

    @property
    def kind_of_choices(self) -> str:
        """The CSS class of the choices."""
        return "short" if max(self._lengths) <= _LONGEST_SHORT else "long"

    def share(self, index: int) -> int:
        """Return how many percent of the students gave a choice at home."""
        return round(100 * self.question.votes[index] / (sum(self.question.votes) or 1))
