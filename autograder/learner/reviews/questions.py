"""Short questions on an exercise that a learner has done."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import Verdict, VerdictState
from ...history import Check, QuestionKind, record
from ...language import LANGUAGES, Text
from ...lessons.source import lesson_source
from ...lessons.variants import VariantTable, variants_of
from ...messages.learners import message
from .hard_rows import hard_rows, judge_rows, program_of, table_of, wrong_rows
from .why import Why
from .wrong_answers import WhatIsWrong, wrong_answer


@dataclass(frozen=True)
class Table:
    """The hard rows of an exercise's table, about another program."""

    exercise: Exercise
    number: int

    @cached_property
    def _table(self) -> VariantTable:
        return table_of(self.exercise, self.number)

    @property
    def minutes(self) -> int:
        return len(hard_rows(self._table))

    def text(self, language: str) -> str:
        """Return the program with all that it uses, as Markdown."""
        asked = message("review.table", function=self._table.function).read(language)
        return f"{asked}\n\n~~~~python\n{program_of(self.exercise, self.number)}\n~~~~"

    def blank(self, language: str) -> tuple[str, str]:
        rows = self._table.stub("x", hard_rows(self._table)).partition(" = ")[2].replace("\n", "\n        ")
        return rows, ""

    def ask(self, read: Callable[[str], str], language: str) -> object:
        """Ask in a terminal for each entry, as `Why.ask` does. A line that is no Python is a text."""
        print(self.text(language))
        return {label: read_value(read(f"{label}: ")) for label in hard_rows(self._table)}

    def mark(self, answer: object) -> tuple[bool, Text] | None:
        """Record the rows, and return whether all were right, with the wrong ones and the misconception seen.

        A row that is left as `...` is wrong, unless all are.
        """
        rows = hard_rows(self._table)
        if not isinstance(answer, Mapping) or all(answer.get(label, ...) is ... for label in rows):
            return None
        verdict = judge_rows(self.exercise, self.number, answer)
        record(verdict, is_review=True, variant=self.number)
        return verdict.state == VerdictState.PASSED, _said_of(self.exercise, verdict, self._table)


Question = Why | WhatIsWrong | Table


def question_on(exercise: Exercise, checks: Iterable[Check]) -> Question | None:
    """Return the next short question on an exercise, or None if there is none.

    `checks` is the learner's history. A table comes again with another program. Of other exercises a wrong answer is
    shown, and in turn with it the question why is asked.
    """
    mine = [each for each in checks if each.verdict.exercise == exercise.name]
    if lesson_source(exercise.lesson) and variants_of(exercise).programs:
        return Table(exercise, 1 + max((each.variant or 0 for each in mine), default=0))
    asked = [each.question for each in mine if each.question in (QuestionKind.WHY, QuestionKind.MISTAKE)]
    wrong = wrong_answer(exercise, asked.count(QuestionKind.MISTAKE))
    why = Why(exercise) if exercise.why else None
    return (why if len(asked) % 2 else wrong) or wrong or why


def _said_of(exercise: Exercise, verdict: Verdict, table: VariantTable) -> Text:
    """Return a sentence on a verdict on some rows of a table."""
    if verdict.state == VerdictState.PASSED:
        return message("review.table.right")
    rows = ", ".join(f"`{label}`" for label in wrong_rows(verdict, table))
    wrong = message("review.table.wrong", rows=rows)
    mistake = exercises.sentence_for(exercise, verdict.mistake) if verdict.mistake else None
    return Text(*(f"{wrong.read(one)} {mistake.read(one) if mistake else ''}".strip() for one in LANGUAGES))


def read_value(written: str) -> object:
    """Return the value that a learner wrote in a terminal.

    What is no literal of Python is a text, nothing is `...`.
    """
    try:
        return ast.literal_eval(written.strip()) if written.strip() else ...
    except (ValueError, SyntaxError):
        return written.strip()
