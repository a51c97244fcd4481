"""A multiple-choice question, and what questions of all kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....checking.exercise import Exercise
from ....language import LANGUAGES, Text
from ....lessons.source import Lesson
from ....messages.report import WORDS

MOST, FEWEST = 5, 3  # choices
_MOST_LINES = 26  # of a program that can be read from the last row


@dataclass(frozen=True)
class Question:
    """A question on a program, with choices.

    `code` defines everything it uses. `called` is a call and `inputs` its arguments; both may be "". `answer` is the
    index of the right choice. `tempting` is the index of another choice that students are likely to take, or None.
    `reason` says why the answer is right, or is None where the choice itself says it. `votes` are the numbers of
    students for each choice in what was handed in, or are empty.
    """

    exercise: Exercise
    prompt: Text
    code: str
    choices: tuple[Text, ...]
    answer: int
    tempting: int | None = None
    reason: Text | None = None
    called: str = ""
    inputs: str = ""
    votes: tuple[int, ...] = ()

    @property
    def comment(self) -> Text | None:
        """A sentence on the choice that students are likely to take."""
        if self.tempting is None:
            return None
        is_table = self.exercise.asks_for == "dict"
        words, choice = WORDS["lecture_tempting" if is_table else "lecture_required"], self.choices[self.tempting]
        return Text(*(words.read(each).format(choice=choice.read(each)) for each in LANGUAGES))

    @property
    def fits(self) -> bool:
        """True if the program can be read from the last row."""
        return len(self.code.splitlines()) <= _MOST_LINES


def find_lesson(exercise: Exercise, lessons: Sequence[Lesson]) -> Lesson | None:
    return next((each for each in lessons if each.of("answer", exercise.name)), None)


def order(choice: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, in front of all other choices."""
    try:
        return False, float(Fraction(choice.split()[0].replace("−", "-"))), choice
    except (ValueError, ZeroDivisionError):
        return True, 0.0, choice
