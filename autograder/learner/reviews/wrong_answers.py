"""Wrong answers of the course, shown to be read."""

from __future__ import annotations

import ast
import builtins
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from ...bound_names import bound_names
from ...checking.exercise import Exercise
from ...checking.judge import judge
from ...exercises import key_of
from ...exercises.key import Misconception
from ...history import QuestionKind, record
from ...language import Text
from ...lessons.mistakes import Mistakes, mistakes_of
from ...lessons.needed_code import needed_code, used_names
from ...messages.learners import message
from .short_verdict import short_verdict
from .statement import state

_OPTIONS = 3  # sentences, one of which is right
_LINES = 30  # of a wrong answer that is read in two minutes
_REMOVED = "removed"
_IDEA = re.compile(r"^\*\*.+?\*\*$", re.M)  # the bold sentence above the exact conditions


@dataclass(frozen=True)
class WhatIsWrong:
    """A wrong answer, and sentences on it, one of which is true."""

    exercise: Exercise
    mistake: str
    others: tuple[Text, ...]
    minutes = 2

    @cached_property
    def _mistakes(self) -> Mistakes:
        return mistakes_of(self.exercise)

    @cached_property
    def options(self) -> list[Text]:
        """The sentences, in an order that depends on the mistake alone."""
        sentences = [self._mistakes.named[self.mistake].says, *self.others]
        random.Random(self.mistake).shuffle(sentences)
        return sentences

    @property
    def right(self) -> int:
        """The number of the sentence that is right, counted from 1."""
        return self.options.index(self._mistakes.named[self.mistake].says) + 1

    def text(self, language: str) -> str:
        """Return the exercise's idea, the wrong answer and the sentences, as Markdown."""
        idea = _IDEA.search(state(self.exercise, language).text)
        numbered = "\n".join(f"{number}. {each.read(language)}" for number, each in enumerate(self.options, 1))
        code = f"~~~~python\n{_readable(self._mistakes, self.mistake)}\n~~~~"
        asked = message("review.what_is_wrong").read(language)
        return "\n\n".join([*([idea[0].strip("*")] if idea else []), code, asked, numbered])

    def blank(self, language: str) -> tuple[str, str]:
        return "...", message("review.fill.mistake", last=len(self.options)).read(language)

    def ask(self, read: Callable[[str], str], language: str) -> object:
        """Ask in a terminal, as `Why.ask` does."""
        print(self.text(language))
        said = read(f"1-{len(self.options)}: ").strip()
        return int(said) if said.isdigit() else ...

    def mark(self, answer: object) -> tuple[bool, Text] | None:
        """Record a number of a sentence, and return whether it was right with the right one."""
        if isinstance(answer, bool) or not isinstance(answer, int) or not 0 < answer <= len(self.options):
            return None
        is_right = answer == self.right
        record(short_verdict(self.exercise, is_right), is_review=True, question=QuestionKind.MISTAKE)
        number, says = self.right, self.options[self.right - 1]
        if is_right:
            return True, says
        return False, Text(*(f"{number}. {each}" for each in says))


def wrong_answer(exercise: Exercise, number: int) -> WhatIsWrong | None:
    """Return the question on another mistake for each `number`, or None if there are too few mistakes.

    Shown are short mistakes of those that come nearest to a right answer. The sentences beside the right one speak of
    names in the code where there are such, and of other themes, because those are hardly true, too.
    """
    near, code, named = _shown(exercise)
    if not near:
        return None
    chosen = near[number % len(near)]
    others = [each for each in {each.says: each for each in named.values()}.values() if each.says != named[chosen].says]
    random.Random(chosen).shuffle(others)
    others.sort(key=lambda each: (not _names_in(each.says) & _words(code[chosen]), each.theme == named[chosen].theme))
    first, *more = others or [named[chosen]]
    more.sort(key=lambda each: each.theme == first.theme)  # two sentences alike rule each other out
    picked = (first.says, *(each.says for each in more[: _OPTIONS - 2]))
    return WhatIsWrong(exercise, chosen, picked) if more else None


@cache
def _shown(exercise: Exercise) -> tuple[list[str], dict[str, str], dict[str, Misconception]]:
    """Return the names of mistakes that are shown, in order; code and misconception of each mistake."""
    found = mistakes_of(exercise)
    named = {name: each for name, each in found.named.items() if name not in found.plain}
    code = {name: _readable(found, name) for name in named}
    whole = sorted((name for name in named if _is_whole(code[name])), key=lambda name: code[name].count("\n"))
    short = [name for name in whole if code[name].count("\n") < _LINES] or whole[:_OPTIONS]
    near = _nearest(exercise, short)
    random.Random(exercise.name).shuffle(near)
    return near, code, named


def _nearest(exercise: Exercise, names: list[str]) -> list[str]:
    """Return the half of these mistakes that earns the most points."""
    expected = key_of(exercise).expected
    points = {name: judge(exercise, expected.mistakes[name], expected).points for name in names}
    best = sorted(names, key=lambda name: -points[name])
    return best[: max((len(names) + 1) // 2, _OPTIONS)]


def _names_in(sentence: Text) -> set[str]:
    """Return the words of the code in a sentence."""
    return {word for code in re.findall(r"`([^`]+)`", sentence.en) for word in _words(code)}


def _words(code: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]{3,}", code))


def _is_whole(code: str) -> bool:
    """Return whether code defines each name that it uses: no solution, no helper of another file."""
    return used_names(code) <= bound_names(code) | vars(builtins).keys()


def _readable(mistakes: Mistakes, name: str) -> str:
    """Return the code of a mistake, with as much of what mistakes share as it uses, without docstrings.

    The docstrings speak of mistakes.
    """
    own = mistakes.own_code(name)
    return _without_docstrings("\n\n\n".join([*needed_code([cell.source for cell in mistakes.shared], "", own), own]))


def _without_docstrings(code: str) -> str:
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) and len(node.body) > 1:
            for number in range(node.body[0].lineno - 1, node.body[0].end_lineno or 0):
                lines[number] = _REMOVED
            following = node.body[0].end_lineno or 0
            if not lines[following].strip():
                lines[following] = _REMOVED
    return "\n".join(line for line in lines if line is not _REMOVED)
