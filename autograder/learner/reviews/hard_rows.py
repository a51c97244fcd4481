"""The rows of a table that most misconceptions get wrong, asked alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.judge import judge
from ...checking.observe import observe
from ...checking.verdict import Verdict
from ...lessons.needed_code import needed_code
from ...lessons.source import lesson_source
from ...lessons.variants import VariantTable, draw_table, sources_above, variants_of
from .again import expected_of

_CHANCE = 0.1  # with which all rows may be guessed
_LEAST = 2  # rows


def hard_rows(table: VariantTable) -> list[str]:
    """Return the labels of the rows that most misconceptions get wrong.

    There are so many that all are guessed rightly only by a small chance: a row counts with the answers that it has in
    the tables of mistakes.
    """
    seen = {label: {repr(each[label]) for each in (table.right, *table.mistaken.values())} for label in table.right}
    wrong = Counter(label for each in table.mistaken.values() for label in each if each[label] != table.right[label])
    rows, chance = list[str](), 1.0
    for label in sorted(table.right, key=lambda label: -wrong[label]):
        if len(rows) >= _LEAST and chance <= _CHANCE:
            break
        rows.append(label)
        chance /= max(len(seen[label]), 2)
    return [label for label in table.right if label in rows]


def table_of(exercise: Exercise, number: int) -> VariantTable:
    """Return a table's variant. Its program runs the first time, once for each mistake."""
    return _drawn(exercise.lesson, exercise.name, number)


@cache
def _drawn(lesson: str, name: str, number: int) -> VariantTable:
    table = draw_table(exercises.find(name, lesson), number)
    assert table is not None
    return table


def program_of(exercise: Exercise, number: int) -> str:
    """Return the program of a table's variant with all that it uses. Nothing runs."""
    program, lesson = variants_of(exercise).draw(number).program, lesson_source(exercise.lesson)
    assert lesson is not None
    return "\n\n\n".join([*needed_code(sources_above(lesson, exercise.name), "", program), program])


def judge_rows(exercise: Exercise, number: int, answers: Mapping[str, object]) -> Verdict:
    """Return the verdict on answers to the hard rows of a variant. A missing one and `...` are wrong."""
    expected, table = expected_of(exercise, number), table_of(exercise, number)
    rows = {label: answers.get(label, ...) for label in hard_rows(table)}
    filled = {**table.right, **{label: "?" if answer is ... else answer for label, answer in rows.items()}}
    return judge(exercise, observe(exercise, filled, expected.seed), expected, lambda: None)


def wrong_rows(verdict: Verdict, table: VariantTable) -> list[str]:
    """Return the labels of a table that a verdict names as wrong."""
    notes = verdict.finding.got if verdict.finding else ()
    named = next((str(note.parameters["entries"]) for note in notes if note.id == "differs.table"), "")
    return [label for label in table.right if f"`{label}`" in named]
