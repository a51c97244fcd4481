"""Answers that are a solution of the lesson, word for word.

A learner can open the solutions of the course in the released notebook. Names that the answer itself binds, comments,
docstrings and layout do not matter. More code around the copy does not, either.

A short idiomatic answer is no copy: others would write it, too. A solution is looked for if it has at least `_OWN`
tokens that the exercise does not give. That is twice as many as two answers must share to be called alike. Right
answers agree by chance, too: 3 of the 288 recorded ones in `tests/exercises/answers` do with such a solution. Tables of
predictions are left out, as all right ones are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lessons.source import Lesson, solutions_in, without_solution
from ..class_counts.counts import Graded
from .answer_tokens import Token, numbered, places_outside, tokens_of, windows_of

_OWN = 40  # tokens that the exercise does not give


def copies_in(graded: Graded) -> dict[str, list[str]]:
    """Return a dict from exercise to the students whose answer holds a solution or an alternative of the lesson."""
    found = {}
    for name, answered in graded.exercises.items():
        if answered.exercise.asks_for != "dict":
            right = [tokens for lesson in graded.lessons for tokens in _long_solutions(lesson, name)]
            copied = [who for who, source in answered.sources.items() if _holds_one(tokens_of(source).code, right)]
            if copied:
                found[name] = sorted(copied)
    return found


def _long_solutions(lesson: Lesson, name: str) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each solution of an exercise that nobody would write by chance."""
    given = [cell.source for cell in lesson.of("given", name)]
    given += [without_solution(cell.source) or "" for cell in lesson.of("answer", name)]
    common = {window for source in given for window in windows_of(tokens_of(source).code)}
    for source in solutions_in(lesson, name):
        tokens = tokens_of(source).code
        if len(places_outside(windows_of(tokens), common)) >= _OWN:
            yield tokens


def _holds_one(answer: Sequence[Token], solutions: Sequence[Sequence[Token]]) -> bool:
    return any(_holds(answer, each) for each in solutions)


def _holds(answer: Sequence[Token], solution: Sequence[Token]) -> bool:
    """Return whether the tokens of a solution stand in an answer one after the other, but for chosen names."""
    wanted = numbered(solution)
    for start in range(len(answer) - len(solution) + 1):
        part = answer[start : start + len(solution)]
        if all(map(_may_be_equal, part, solution)) and numbered(part) == wanted:
            return True
    return False


def _may_be_equal(one: Token, other: Token) -> bool:
    return one.chosen == other.chosen and (one.chosen or one.text == other.text)
