"""A multiple-choice question for the next lecture, from the most frequent misconception.

The method is peer instruction: Crouch and Mazur, "Peer Instruction: Ten years of experience and results", 2001.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...checking.exercise import PUBLIC_SEED, Exercise
from ...checking.expected import Expected
from ...checking.observe import observe
from ...checking.run import Run
from ...exercises import key_of, misconceptions_of
from ...language import LANGUAGES, Text
from ...lessons.mistakes import mistakes_of
from ...lessons.source import Lesson
from ...messages.report import WORDS
from .choices import choice_for, is_telling
from .counts import Wrong

_MOST, _FEWEST = 5, 3  # choices
_Path = tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question on a piece of code, with choices.

    `code` is the code, `called` the call and `inputs` its arguments; the last two may be "". `asks` names the value
    that is asked for: a sentence of the exercise, or an entry of a table. It is None where the choices are mistakes.
    `answer` is the index of the right choice. `tempting` is the index of another choice that students are likely to
    take, or None.
    """

    wrong: Wrong
    code: str
    called: str
    inputs: str
    asks: Text | None
    choices: tuple[Text, ...]
    answer: int
    tempting: int | None

    @property
    def prompt(self) -> Text:
        """The question as a sentence."""
        if self.asks is None:
            return WORDS["lecture_mistake"]
        if self._is_table:
            return Text(*(WORDS["lecture_entry"].read(each).format(what=self.asks.read(each)) for each in LANGUAGES))
        return Text(*(f"{WORDS['lecture_output'].read(each)} ({self.asks.read(each)})" for each in LANGUAGES))

    @property
    def comment(self) -> Text | None:
        """A sentence on the choice that students are likely to take."""
        if self.tempting is None:
            return None
        words, choice = WORDS["lecture_tempting" if self._is_table else "lecture_required"], self.choices[self.tempting]
        return Text(*(words.read(each).format(choice=choice.read(each)) for each in LANGUAGES))

    @property
    def _is_table(self) -> bool:
        return self.wrong.exercise.asks_for == "dict"


def lecture_question(groups: Sequence[Wrong], lessons: Sequence[Lesson]) -> Question | None:
    """Return a question from the first group of wrong answers with a known mistake, or None.

    `groups` are ordered by size. `lessons` are those of the assignment.
    """
    for wrong in groups:
        if wrong.mistake in misconceptions_of(wrong.exercise) and wrong.code:
            expected = key_of(wrong.exercise).expected
            if wrong.exercise.asks_for == "dict":
                found = _on_table(wrong, expected, lessons)
            else:
                found = _on_output(wrong, expected) or _on_mistake(wrong, groups)
            if found:
                return found
    return None


def _on_table(wrong: Wrong, expected: Expected, lessons: Sequence[Lesson]) -> Question | None:
    """Return a question on an entry of a table of predictions. The code is that of the lesson."""
    place = _best_place(wrong, expected)
    code = _code_before(wrong.exercise, lessons)
    if place is None or not code:
        return None
    choices, mine, right = place.choices()
    entry = Text.same(f"`{'.'.join(place.path)}`")
    return Question(wrong, code, "", "", entry, choices, choices.index(right), choices.index(mine))


def _on_output(wrong: Wrong, expected: Expected) -> Question | None:
    """Return a question on what a wrong answer gives, compared with a right one. The code is a student's."""
    place = _best_place(wrong, expected)
    if place is None or len(place.others) < _FEWEST:
        return None
    choices, mine, right = place.choices()
    aspect = next(each for each in wrong.exercise.aspects if each.name == place.aspect)
    run = _run(wrong, place.case)
    asks = aspect.measured or aspect.says
    return Question(wrong, wrong.code, run.called, run.inputs, asks, choices, choices.index(mine), choices.index(right))


def _on_mistake(wrong: Wrong, groups: Sequence[Wrong]) -> Question:
    """Return a question on what is wrong with a student's code. The choices are mistakes of the exercise."""
    known = misconceptions_of(wrong.exercise)
    seen = [each.mistake for each in groups if each.exercise is wrong.exercise and each.mistake in known]
    names = [name for name in dict.fromkeys([wrong.mistake, *seen, *known]) if name in known]
    says = [known[name].says for name in names if name]
    choices = list({each.en: each for each in says}.values())[: _MOST - 1]
    right = choices[0]
    choices = [*sorted(choices, key=lambda each: each.en), WORDS["nothing_wrong"]]
    return Question(wrong, wrong.code, "", "", None, tuple(choices), choices.index(right), None)


@dataclass(frozen=True)
class _Place:
    """A value in an observation that a question can ask for.

    `case` is the index of the case. `aspect` and `path` name the value: the aspect, and the keys inside its dict.
    `mine` is the value that the mistake gives, `right` the solution's. `others` holds the values of all mistakes, by
    English text.
    """

    case: int
    aspect: str
    path: _Path
    mine: Text
    right: Text
    others: Mapping[str, Text]

    def choices(self) -> tuple[tuple[Text, ...], Text, Text]:
        """Return the choices in order, the choice that the mistake gives, and the choice that is right."""
        kept = list({each.en: each for each in (self.mine, self.right, *self.others.values())}.values())[:_MOST]
        return tuple(sorted(kept, key=_order)), self.mine, self.right


def _best_place(wrong: Wrong, expected: Expected) -> _Place | None:
    """Return the value for which the mistakes of the exercise give the most different choices.

    Returns None if the answer's mistake gives no value that a short text can tell.
    """
    exercise, best = wrong.exercise, None
    for case, (run, right) in enumerate(zip(expected.mistakes[wrong.mistake or ""], expected.solution)):
        for aspect in exercise.aspects:
            for path in _paths(right.values.get(aspect.name)):
                plain = exercise.asks_for == "dict"
                wanted = choice_for(right, right, aspect.name, path, plain)
                mine = choice_for(run, right, aspect.name, path, plain)
                if not mine or not wanted or mine.en == wanted.en or not is_telling(mine):
                    continue
                all_runs = [runs[case] for runs in expected.mistakes.values() if len(runs) > case]
                found = [choice_for(each, right, aspect.name, path, plain) for each in all_runs]
                others = {each.en: each for each in (mine, wanted, *found) if each}
                if best is None or len(others) > len(best.others):
                    best = _Place(case, aspect.name, path, mine, wanted, others)
    return best


def _paths(value: object) -> Iterator[_Path]:
    """Yield the path of each entry of a nested dict: `("a", "b")` for `{"a": {"b": 1}}`.

    A value that is no dict has the path ().
    """
    if not isinstance(value, dict):
        yield ()
        return
    for key, each in value.items():
        for path in _paths(each):
            yield (str(key), *path)


def _order(choice: Text) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, in front of all other choices."""
    try:
        return False, float(Fraction(choice.en.split()[0].replace("−", "-"))), choice.en
    except (ValueError, ZeroDivisionError):
        return True, 0.0, choice.en


def _run(wrong: Wrong, case: int) -> Run:
    """Run the program of a recognised mistake on a public case, and return the observation.

    The program is the course's own, not a student's.
    """
    program = mistakes_of(wrong.exercise).program(wrong.mistake or "", wrong.exercise.asks)
    return observe(wrong.exercise, program, PUBLIC_SEED)[case]


def _code_before(exercise: Exercise, lessons: Sequence[Lesson]) -> str:
    """Return the code that a table of predictions is about, or "" if the lessons have none.

    It is the last code cell above the table that belongs to no exercise.
    """
    for lesson in lessons:
        code = ""
        for cell in lesson.cells:
            if cell.role == ("answer", exercise.name):
                return code
            if cell.kind == "code" and cell.role is None and not cell.is_fact and not cell.is_picture:
                code = cell.source
    return ""
