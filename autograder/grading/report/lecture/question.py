"""A multiple-choice question for the next lecture, from what most students got wrong.

The method is peer instruction: Crouch and Mazur, "Peer Instruction: Ten years of experience and results", 2001.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ....checking.exercise import PUBLIC_SEED, Exercise
from ....checking.observe import observe
from ....checking.values import prediction
from ....exercises import key_of, misconceptions_of
from ....language import LANGUAGES, Text
from ....lessons.mistakes import mistakes_of
from ....lessons.source import Lesson
from ....messages.report import WORDS
from ..counts import Answered, Graded, Wrong
from ..table_rows import Row, TableCounts
from .places import best_place
from .program import mistaken_program, table_program

_MOST, _FEWEST = 5, 3  # choices
_MOST_SENTENCES = 4  # choices that are sentences
_MOST_LINES, _MOST_COLUMNS = 28, 64  # of a program that can be read from the last row
_FEW_LINES = 12  # of a program with room below it


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
    def lines(self) -> int:
        """The number of lines of the program."""
        return len(self.code.splitlines())

    @property
    def columns(self) -> int:
        """The number of columns of the program."""
        return max(map(len, self.code.splitlines()))

    @property
    def is_wide(self) -> bool:
        """True if the choices have more room below the program than beside it."""
        return self.columns > _MOST_COLUMNS and self.lines <= _FEW_LINES

    @property
    def fits(self) -> bool:
        """True if the program can be read from the last row."""
        return self.is_wide or (self.columns <= _MOST_COLUMNS and self.lines <= _MOST_LINES)


def lecture_question(graded: Graded) -> Question | None:
    """Return a question on what most students got wrong, or None.

    It is a row of a table, or a recognised mistake. A program that fits on one screen is preferred.
    """
    found: list[tuple[int, Callable[[], Question | None]]] = []
    for answered in graded.exercises.values():
        if answered.exercise.core and answered.exercise.asks_for == "dict":
            found += _rows(answered, graded)
    shared = graded.misunderstood()
    found += [
        (len(wrong.students), partial(_on_mistake, wrong, shared, graded.lessons))
        for wrong in shared
        if wrong.mistake in misconceptions_of(wrong.exercise)
    ]
    questions = filter(None, (make() for _, make in sorted(found, key=lambda each: -each[0])))
    first = next(questions, None)
    return first if first is None or first.fits else next((each for each in questions if each.fits), first)


def _rows(answered: Answered, graded: Graded) -> list[tuple[int, Callable[[], Question | None]]]:
    """Return pairs of a number of students and a question, for the rows of a table that several got wrong.

    A row of which the lesson has no program, as in a student's own table, is left out.
    """
    exercise = answered.exercise
    truth, lesson = _truth(exercise), _lesson_of(exercise, graded.lessons)
    return [
        (row.wrong.total(), partial(_on_row, answered, lesson, counts, row))
        for counts in answered.tables
        for row in counts.rows
        if lesson and row.wrong.total() > 1 and row.label in truth and row.right == truth[row.label]
    ]


def _on_row(answered: Answered, lesson: Lesson, counts: TableCounts, row: Row) -> Question | None:
    """Return a question on the row of a table, with the values that the class gave."""
    given = Counter({value: count for (value, _), count in row.wrong.items()})
    made = sorted(answered.wrong(recognised=True), key=lambda each: -len(each.students))
    names = [each.mistake for each in made if each.mistake]
    return _on_table(answered.exercise, lesson, row.label, given, names, counts.filled - given.total())


def _on_table(
    exercise: Exercise,
    lesson: Lesson,
    label: str,
    given: Counter[str],
    mistakes: Sequence[str],
    right: int | None = None,
) -> Question | None:
    """Return a question on the row `label` of a table of predictions.

    `given` counts wrong values. The reason is that of the first of `mistakes`, or of another one, that gives the most
    frequent value. `right` is the number of students with the right value, if it is known.
    """
    truth, believed = _truth(exercise)[label], {name: table[label] for name, table in _believed(exercise).items()}
    code = table_program(exercise, lesson, label, truth)
    ordered = [value for value, _ in given.most_common()]
    values = sorted(list(dict.fromkeys([truth, *ordered, *believed.values()]))[:_MOST], key=_order)
    if not code or len(values) < 2:
        return None
    known = misconceptions_of(exercise)
    reasons = [known[name].says for name in dict.fromkeys([*mistakes, *believed]) if believed.get(name) == ordered[0]]
    return Question(
        exercise,
        WORDS["lecture_line"],
        code,
        tuple(Text.same(f"`{value}`") for value in values),
        values.index(truth),
        values.index(ordered[0]),
        reasons[0] if reasons else None,
        votes=() if right is None else tuple(right if value == truth else given[value] for value in values),
    )


def _on_mistake(wrong: Wrong, groups: Sequence[Wrong], lessons: Sequence[Lesson]) -> Question | None:
    """Return a question on a recognised mistake: what a table holds, what comes out, or what is wrong."""
    exercise, mistake, lesson = wrong.exercise, wrong.mistake or "", _lesson_of(wrong.exercise, lessons)
    if lesson is None:
        return None
    if exercise.asks_for == "dict":
        truth, believed = _truth(exercise), _believed(exercise)
        wrongly = [label for label in truth if believed[mistake][label] != truth[label]]
        label = max(wrongly, key=lambda each: len({table[each] for table in believed.values()}))
        return _on_table(exercise, lesson, label, Counter({believed[mistake][label]: 1}), [mistake])
    code = mistaken_program(exercise, lesson, mistake)
    return (_on_output(wrong, code) or _on_sentences(wrong, code, groups)) if code else None


def _on_output(wrong: Wrong, code: str) -> Question | None:
    """Return a question on what a mistake gives, compared with what is right."""
    exercise, mistake = wrong.exercise, wrong.mistake or ""
    place = best_place(exercise, mistake, key_of(exercise).expected)
    if place is None or len(place.others) < _FEWEST:
        return None
    choices = list({each.en: each for each in (place.mine, place.right, *place.others.values())}.values())[:_MOST]
    choices.sort(key=lambda each: _order(each.en))
    aspect = next(each for each in exercise.aspects if each.name == place.aspect)
    asks = aspect.measured or aspect.says
    prompt = Text(*(f"{WORDS['lecture_output'].read(each)} ({asks.read(each)})" for each in LANGUAGES))
    run = observe(exercise, mistakes_of(exercise).program(mistake, exercise.asks), PUBLIC_SEED)[place.case]
    return Question(
        exercise,
        prompt,
        code,
        tuple(choices),
        choices.index(place.mine),
        choices.index(place.right),
        wrong.sentence,
        run.called.replace("case.", ""),
        run.inputs,
    )


def _on_sentences(wrong: Wrong, code: str, groups: Sequence[Wrong]) -> Question:
    """Return a question on what is wrong with a program. The choices are mistakes of the exercise."""
    known = misconceptions_of(wrong.exercise)
    seen = [each.mistake for each in groups if each.exercise is wrong.exercise and each.mistake in known]
    says = [known[name].says for name in dict.fromkeys([wrong.mistake, *seen, *known]) if name]
    choices = list({each.en: each for each in says}.values())[: _MOST_SENTENCES - 1]
    right = choices[0]
    choices = [*sorted(choices, key=lambda each: each.en), WORDS["nothing_wrong"]]
    return Question(wrong.exercise, WORDS["lecture_mistake"], code, tuple(choices), choices.index(right))


def _truth(exercise: Exercise) -> dict[str, str]:
    """Return the right table of predictions, as texts."""
    return _shown(key_of(exercise).expected.solution[0].values[exercise.aspects[0].name])


def _believed(exercise: Exercise) -> dict[str, dict[str, str]]:
    """Return a dict from the name of each mistake to its table of predictions, as texts."""
    mistakes = key_of(exercise).expected.mistakes
    return {name: _shown(runs[0].values[exercise.aspects[0].name]) for name, runs in mistakes.items()}


def _shown(table: Mapping[str, object]) -> dict[str, str]:
    return {label: prediction(value) for label, value in table.items()}


def _lesson_of(exercise: Exercise, lessons: Sequence[Lesson]) -> Lesson | None:
    return next((each for each in lessons if each.of("answer", exercise.name)), None)


def _order(choice: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, in front of all other choices."""
    try:
        return False, float(Fraction(choice.split()[0].replace("−", "-"))), choice
    except (ValueError, ZeroDivisionError):
        return True, 0.0, choice
