"""Short questions on an exercise that a learner has done."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.judge import judge, screen
from ...checking.observe import observe
from ...checking.verdict import Verdict, VerdictState
from ...history import Check, QuestionKind, record
from ...language import LANGUAGES, Text
from ...lessons.needed_code import needed_code
from ...lessons.source import lesson_source
from ...lessons.variants import VariantTable, draw_table, sources_above, variants_of
from ...messages.learners import message, say
from ...messages.markup import folded
from .again import expected_of
from .short_verdict import short_verdict
from .wrong_answers import WhatIsWrong, wrong_answer


@dataclass(frozen=True)
class Why:
    """The question why of an exercise.

    The learner answers in words, and compares the answer with ours.
    """

    exercise: Exercise
    minutes = 1

    def text(self, language: str) -> str:
        """Return question and answer as Markdown. The answer is seen after a click."""
        return f"{self.question(language)}\n\n{folded(message('why.compare').read(language), self.answer(language))}"

    def question(self, language: str) -> str:
        assert self.exercise.why
        return self.exercise.why.question.read(language)

    def answer(self, language: str) -> str:
        assert self.exercise.why
        return self.exercise.why.because.read(language)

    def blank(self, language: str) -> tuple[str, str]:
        return "...", message("review.fill.why").read(language)

    def ask(self, read: Callable[[str], str], language: str) -> object:
        """Ask in a terminal, where `read` shows a prompt and returns a line, and return what was said, or `...`."""
        print(self.question(language))
        if not read("> "):
            return ...
        print(f"\n{self.answer(language)}\n")
        said = read(message("review.same").read(language))[:1].lower()
        return said in "yд" if said else ...

    def mark(self, answer: object) -> tuple[bool, Text] | None:
        """Record whether the learner was right, and return it with a sentence, or None for no such answer."""
        if not isinstance(answer, bool):
            return None
        record(short_verdict(self.exercise, answer), is_review=True, question=QuestionKind.WHY)
        return answer, message("review.said.right" if answer else "review.said.wrong")


@dataclass(frozen=True)
class Table:
    """The table of an exercise, about another program."""

    exercise: Exercise
    number: int

    @cached_property
    def _table(self) -> VariantTable:
        table = draw_table(self.exercise, self.number)
        assert table is not None
        return table

    @property
    def minutes(self) -> int:
        return len(self._table.right)

    def text(self, language: str) -> str:
        """Return the program with all that it uses, as Markdown."""
        lesson, program = lesson_source(self.exercise.lesson), self._table.program
        assert lesson is not None
        code = "\n\n\n".join([*needed_code(sources_above(lesson, self.exercise.name), "", program), program])
        asked = message("review.table", function=self._table.function).read(language)
        return f"{asked}\n\n~~~~python\n{code}\n~~~~"

    def blank(self, language: str) -> tuple[str, str]:
        rows = self._table.stub("x").partition(" = ")[2].replace("\n", "\n        ")
        return rows, ""

    def ask(self, read: Callable[[str], str], language: str) -> object:
        """Ask in a terminal for each entry, as `Why.ask` does. A line that is no Python is a text."""
        print(self.text(language))
        return {label: read_value(read(f"{label}: ")) for label in self._table.right}

    def mark(self, answer: object) -> tuple[bool, Text] | None:
        """Record a table, and return whether it was right, with the wrong entries and the misconception seen."""
        if not isinstance(answer, Mapping) or screen(self.exercise, {self.exercise.asks: answer}):
            return None
        expected = expected_of(self.exercise, self.number)
        verdict = judge(self.exercise, observe(self.exercise, answer, expected.seed), expected)
        if verdict.state not in (VerdictState.PASSED, VerdictState.NOT_YET):
            return None
        record(verdict, is_review=True, variant=self.number)
        return verdict.state == VerdictState.PASSED, _said_of(self.exercise, verdict)


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


def _said_of(exercise: Exercise, verdict: Verdict) -> Text:
    """Return a sentence on a verdict on a table."""
    if verdict.state == VerdictState.PASSED:
        return message("review.table.right")
    notes = verdict.finding.got if verdict.finding else ()
    mistake = exercises.sentence_for(exercise, verdict.mistake) if verdict.mistake else None
    more = [mistake] if mistake else []
    return Text(
        *(". ".join([*(say(note, one) for note in notes), *(each.read(one) for each in more)]) for one in LANGUAGES)
    )


def read_value(written: str) -> object:
    """Return the value that a learner wrote in a terminal. What is no literal of Python is a text, nothing is `...`."""
    try:
        return ast.literal_eval(written.strip()) if written.strip() else ...
    except (ValueError, SyntaxError):
        return written.strip()
