"""`placement()`: the hardest row of each lesson's table, as a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.judge import judge
from ...checking.observe import observe
from ...checking.verdict import VerdictState
from ...history import read_history, record
from ...language import Text
from ...lessons.needed_code import needed_code
from ...lessons.source import lesson_source
from ...lessons.variants import draw_table, sources_above, variants_of
from ...messages.cards import message
from ...session import SESSION, being_graded
from ..cells_run import shell
from ..notebooks.headings import title_of_lesson
from ..replies import Prose, Reply, Table
from .again import expected_of

_VARIANT = 1  # the program of each question; a lesson's own program stays unseen


@dataclass(frozen=True)
class _Question:
    """One row of a variant: what does the function return for `label`?"""

    exercise: Exercise
    label: str
    cell: str


def ask(name: str = "", answer: object = None) -> Prose | Reply | Table:
    """Judge an answer to the question on exercise `name`, if there is one, and show the next question.

    After the last question, return a table of lessons with what to do in each. Returns a `Reply` while nbgrader runs
    the notebook, or if the course's sources are not installed.
    """
    if being_graded():
        return Reply((message("run.checking", name="placement"),))
    tables = [*_tables()]
    if not tables:
        return Reply((message("placement.absent"),))
    if name and name not in {each.name for each in tables}:
        return Reply((message("placement.unknown", name=name),))
    said = _judged(exercises.find(name), answer) if name else None
    known = _known()
    left = [each for each in tables if each.name not in known]
    if not left:
        return _proposal(tables, known)
    place, question = len(tables) - len(left) + 1, _question(left[0])
    return _show(question, place, len(tables), said)


def skipped_lessons() -> set[str]:
    """Return the lessons whose question was answered rightly at the last placement."""
    known = _known()
    return {each.lesson for each in _tables() if known.get(each.name)}


def _tables() -> Iterator[Exercise]:
    """Yield the first core table of predictions of each lesson, in the order of the course."""
    named = {title_of_lesson(lesson, "en"): lesson for lesson in exercises.lessons()}
    for _, lesson in sorted(named.items()):
        for each in exercises.load(lesson).values() if lesson_source(lesson) else ():
            if each.core and variants_of(each).programs:
                yield each
                break


def _known() -> dict[str, bool]:
    """Return a dict from exercise to whether its question was answered rightly, the last answer counting."""
    checks = (check for check in read_history().checks if check.is_placement)
    return {check.verdict.exercise: check.verdict.state == VerdictState.PASSED for check in checks}


def _question(exercise: Exercise) -> _Question:
    """Return the question on the row that most misconceptions get wrong."""
    table, lesson = draw_table(exercise, _VARIANT), lesson_source(exercise.lesson)
    assert table is not None
    assert lesson is not None
    wrong = Counter(label for each in table.mistaken.values() for label in each if each[label] != table.right[label])
    label = max(table.right, key=lambda each: wrong[each])
    above = [*needed_code(sources_above(lesson, exercise.name), "", table.program), table.program]
    asked = message("placement.row", function=table.function, label=label).read(SESSION.speaks)
    calls = f'from autograder import placement\n\nplacement("{exercise.name}", answer)'
    cell = "\n\n\n".join([*above, f"# {asked}\nanswer = ...\n\n{calls}"])
    return _Question(exercise, label, cell)


def _judged(exercise: Exercise, answer: object) -> Text:
    """Judge the answer to one row, record it, and return a sentence on it."""
    expected, table = expected_of(exercise, _VARIANT), draw_table(exercise, _VARIANT)
    assert table is not None
    filled = {**table.right, _question(exercise).label: "?" if answer is ... else answer}
    verdict = judge(exercise, observe(exercise, filled, expected.seed), expected, lambda: None)
    record(verdict, is_placement=True)
    wrong = "unknown_answer" if answer is ... else "wrong"
    return message("placement.right" if verdict.state == VerdictState.PASSED else f"placement.{wrong}")


def _show(question: _Question, place: int, total: int, said: Text | None) -> Prose:
    language, ipython = SESSION.speaks, shell()
    title = title_of_lesson(question.exercise.lesson, language)
    parts = [said.read(language)] if said else [message("placement.about", total=total).read(language)]
    parts.append(message("placement.title", number=place, total=total, lesson=title).read(language))
    if ipython:
        ipython.set_next_input(question.cell, replace=False)
        parts.append(message("placement.cell").read(language))
    else:
        parts.append(f"~~~~python\n{question.cell}\n~~~~")
    return Prose(Text.same("\n\n".join(parts)))


def _proposal(tables: list[Exercise], known: dict[str, bool]) -> Table:
    """Return a table of lessons: which can be skipped, and where to begin."""
    language = SESSION.speaks

    def say(id: str, **parameters: object) -> str:
        return message(id, **parameters).read(language)

    first = next((each for each in tables if not known[each.name]), None)
    rows = []
    for each in tables:
        proposal = "skip" if known[each.name] else "begin" if each is first else "do"
        answer = "✓" if known[each.name] else "✗"
        rows.append((title_of_lesson(each.lesson, language), answer, say(f"placement.{proposal}")))
    head = (say("progress.lesson"), say("placement.answer"), say("placement.proposal"))
    return Table(say("placement.done"), head, tuple(rows), (say("placement.below"),))
