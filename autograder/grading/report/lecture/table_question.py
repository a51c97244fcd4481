"""Questions on a row of a table of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ....checking.exercise import Exercise
from ....checking.values import prediction
from ....exercises import key_of, misconceptions_of
from ....language import Text
from ....lessons.source import Lesson
from ....messages.report import WORDS
from ...class_counts.counts import Answered
from ...class_counts.table_rows import Row, TableCounts
from .program import table_program
from .question import MOST, Question, find_lesson, order


def row_questions(answered: Answered, lessons: Sequence[Lesson]) -> list[tuple[int, Callable[[], Question | None]]]:
    """Return pairs of a number of students and a question, for the rows of a table that several got wrong.

    A row of which the lesson has no program, as in a student's own table, is left out.
    """
    exercise = answered.exercise
    truth, lesson = _truth(exercise), find_lesson(exercise, lessons)
    return [
        (row.wrong.total(), partial(_on_row, answered, lesson, counts, row))
        for counts in answered.tables
        for row in counts.rows
        if lesson and row.wrong.total() > 1 and row.label in truth and row.right == truth[row.label]
    ]


def table_question(exercise: Exercise, lesson: Lesson, mistake: str) -> Question | None:
    """Return a question on the row of a table that a mistake gets wrong, and that tells most mistakes apart."""
    truth, believed = _truth(exercise), _believed(exercise)
    wrongly = [label for label in truth if believed[mistake][label] != truth[label]]
    label = max(wrongly, key=lambda each: len({table[each] for table in believed.values()}))
    return _on_table(exercise, lesson, label, Counter({believed[mistake][label]: 1}), [mistake])


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
    right_table, tables = _truth(exercise), _believed(exercise)
    fewest_first = sorted(tables, key=lambda name: sum(tables[name][each] != right_table[each] for each in right_table))
    truth, believed = right_table[label], {name: tables[name][label] for name in fewest_first}
    code = table_program(exercise, lesson, label, truth)
    ordered = [value for value, _ in given.most_common()]
    distinct: dict[str, str] = {}
    for value in (truth, *ordered, *believed.values()):
        distinct.setdefault(_as_numbers(value), value)
    values = sorted([*distinct.values()][:MOST], key=order)
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


def _truth(exercise: Exercise) -> dict[str, str]:
    """Return the right table of predictions, as texts."""
    return _shown(key_of(exercise).expected.solution[0].values[exercise.aspects[0].name])


def _believed(exercise: Exercise) -> dict[str, dict[str, str]]:
    """Return a dict from the name of each mistake to its table of predictions, as texts."""
    mistakes = key_of(exercise).expected.mistakes
    return {name: _shown(runs[0].values[exercise.aspects[0].name]) for name, runs in mistakes.items()}


def _shown(table: Mapping[str, object]) -> dict[str, str]:
    return {label: prediction(value) for label, value in table.items()}


def _as_numbers(value: str) -> str:
    """Return a text that is the same for values that Python calls equal, such as 1 and True."""
    return value.replace("True", "1").replace("False", "0")
