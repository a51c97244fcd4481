"""`placement()`: the hardest row of each lesson's table, as a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.judge import judge
from ...checking.observe import observe
from ...checking.verdict import Verdict, VerdictState
from ...history import read_history, record, standings, verdicts
from ...language import Text
from ...lessons.needed_code import needed_code
from ...lessons.source import lesson_source
from ...lessons.variants import VariantTable, draw_table, sources_above, variants_of
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..cells_run import shell
from ..chosen_path import chosen_path
from ..notebooks.headings import title_of_lesson
from ..replies import Prose, Reply, TableReply
from .again import expected_of

_VARIANT = 1  # the program of each question; a lesson's own program stays unseen


def ask(name: str = "", answer: object = None) -> Prose | Reply | TableReply:
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
    answered, done = _answered(), _done_lessons()
    left = [each for each in tables if not (each.name in answered or each.lesson in done)]
    if not left:
        known = {name for name, verdict in answered.items() if verdict.state == VerdictState.PASSED}
        return _proposal(tables, known, done)
    total = sum(each.name in answered for each in tables) + len(left)
    return _show(left[0], total - len(left) + 1, total, said)


def skipped_lessons() -> set[str]:
    """Return the lessons whose question was answered rightly at the last placement."""
    return {verdict.lesson for verdict in _answered().values() if verdict.state == VerdictState.PASSED}


def _done_lessons() -> set[str]:
    """Return the lessons whose core exercises have all passed. They are not asked about."""
    best = standings(verdicts())
    passed = {name for name, standing in best.items() if standing.best.state == VerdictState.PASSED}
    core = {
        lesson: {each.name for each in exercises.load(lesson).values() if each.core} for lesson in exercises.lessons()
    }
    return {lesson for lesson, names in core.items() if names and names <= passed}


def _tables() -> Iterator[Exercise]:
    """Yield the first core table of predictions of each lesson on the learner's path, in the order of the course."""
    path = chosen_path()
    known = exercises.lessons() if path is None else [exercises.bare(each) for each in path.counts]
    named = {title_of_lesson(lesson, "en"): lesson for lesson in known}
    for _, lesson in sorted(named.items()):
        for each in exercises.load(lesson).values() if lesson_source(lesson) else ():
            if each.core and variants_of(each).programs:
                yield each
                break


def _answered() -> dict[str, Verdict]:
    """Return a dict from exercise to the verdict on the last answer to its question."""
    return {check.verdict.exercise: check.verdict for check in read_history().checks if check.is_placement}


def _hardest_row(table: VariantTable) -> str:
    """Return the label of the row that most misconceptions get wrong."""
    wrong = Counter(label for each in table.mistaken.values() for label in each if each[label] != table.right[label])
    return max(table.right, key=lambda label: wrong[label])


def _question(exercise: Exercise) -> str:
    """Return the code of a cell that asks for the hardest row of a table."""
    table, lesson = draw_table(exercise, _VARIANT), lesson_source(exercise.lesson)
    assert table is not None
    assert lesson is not None
    above = [*needed_code(sources_above(lesson, exercise.name), "", table.program), table.program]
    asked = message("placement.row", function=table.function, label=_hardest_row(table)).read(SESSION.speaks)
    calls = f'from autograder import placement\n\nplacement("{exercise.name}", answer)'
    return "\n\n\n".join([*above, f"# {asked}\nanswer = ...\n\n{calls}"])


def _judged(exercise: Exercise, answer: object) -> Text:
    """Judge the answer to one row, record it, and return a sentence on it."""
    expected, table = expected_of(exercise, _VARIANT), draw_table(exercise, _VARIANT)
    assert table is not None
    filled = {**table.right, _hardest_row(table): "?" if answer is ... else answer}
    verdict = judge(exercise, observe(exercise, filled, expected.seed), expected, lambda: None)
    record(verdict, is_placement=True)
    wrong = "unknown_answer" if answer is ... else "wrong"
    return message("placement.right" if verdict.state == VerdictState.PASSED else f"placement.{wrong}")


def _show(exercise: Exercise, place: int, total: int, said: Text | None) -> Prose:
    language, ipython, cell = SESSION.speaks, shell(), _question(exercise)
    title = title_of_lesson(exercise.lesson, language)
    parts = [said.read(language)] if said else [message("placement.about", total=total).read(language)]
    parts.append(message("placement.title", number=place, total=total, lesson=title).read(language))
    if ipython:
        ipython.set_next_input(cell, replace=False)
        parts.append(message("placement.cell").read(language))
    else:
        parts.append(f"~~~~python\n{cell}\n~~~~")
    return Prose(Text.same("\n\n".join(parts)))


def _proposal(tables: list[Exercise], known: set[str], done: set[str]) -> TableReply:
    """Return a table of lessons: which can be skipped, and where to begin.

    `known` names tables answered rightly, `done` lessons that are done.
    """
    language = SESSION.speaks

    def say(id: str, **parameters: object) -> str:
        return message(id, **parameters).read(language)

    first = next((each for each in tables if not (each.name in known or each.lesson in done)), None)
    rows = []
    for each in tables:
        proposal = "skip" if each.name in known else "begin" if each is first else "do"
        proposal, answer = ("finished", "") if each.lesson in done else (proposal, "✓" if each.name in known else "✗")
        rows.append((title_of_lesson(each.lesson, language), answer, say(f"placement.{proposal}")))
    head = (say("progress.lesson"), say("placement.answer"), say("placement.proposal"))
    return TableReply(say("placement.done"), head, tuple(rows), (say("placement.below"),))
