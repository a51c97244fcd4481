"""The question for a lecture as a page to project."""

from __future__ import annotations

import math
from datetime import tzinfo

from ..view import ENVIRONMENT, View
from .question import Question

_LONGEST_SHORT = 36  # characters of choices that are shown in the largest type
_LARGEST = 1.65  # size of other choices, in hundredths of the screen's width
_COLUMNS = 64  # of a program beside the choices; longer lines are wrapped
_FEW_LINES = 12  # of a wide program above the choices
_ROOM = 30  # size of a choice of one character that fills its part of the screen


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
        columns = max(map(len, self.lines))
        columns = columns if self.is_wide else min(columns, _COLUMNS)
        lines = sum(max(1, math.ceil(len(line) / columns)) for line in self.lines)
        return f"--lines: {lines}; --columns: {columns}; --choice: {size:.2f}"

    @property
    def lines(self) -> list[str]:
        """The lines of the program."""
        return self.question.code.splitlines()

    @property
    def is_wide(self) -> bool:
        """True if the choices have more room below the program than beside it."""
        return max(map(len, self.lines)) > _COLUMNS and len(self.lines) <= _FEW_LINES

    def hanging(self, line: str) -> int:
        """Return the indentation of what is wrapped of a long line, in columns, or 0 if the line is short."""
        return len(line) - len(line.lstrip()) + 4 if len(line) > _COLUMNS else 0

    def has_long_prompt(self) -> bool:
        return len(self.question.prompt.read(self.language)) > 2 * _LONGEST_SHORT

    @property
    def kind_of_choices(self) -> str:
        """The CSS class of the choices."""
        return "short" if max(self._lengths) <= _LONGEST_SHORT else "long"

    def share(self, index: int) -> int:
        """Return how many percent of the students gave a choice at home."""
        return round(100 * self.question.votes[index] / (sum(self.question.votes) or 1))
