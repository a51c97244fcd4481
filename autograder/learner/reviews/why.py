"""The question why of an exercise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...checking.exercise import Exercise
from ...history import QuestionKind, record
from ...language import Text
from ...messages.learners import message
from ...messages.markup import folded
from .short_verdict import short_verdict


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
