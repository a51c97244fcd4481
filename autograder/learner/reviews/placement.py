"""`placement()`: the hard rows of each lesson's table, as a question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ... import exercises
from ...checking.exercise import Exercise
from ...checking.verdict import VerdictState
from ...history import Check, History, QuestionKind, read_history, record, standings
from ...language import Text
from ...lessons.source import lesson_source
from ...lessons.variants import variants_of
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..cells_run import shell
from ..chosen_path import chosen_path
from ..notebooks.headings import title_of_lesson
from ..replies import Prose, Reply, TableReply
from .hard_rows import hard_rows, judge_rows, program_of, table_of, wrong_rows

_LINES = 70  # of a program that is read for a question


def ask(name: str, answers: Mapping[str, object] | None, number: int, *, again: bool) -> Prose | Reply | TableReply:
    """Judge the answers to the question on exercise `name`, if there is one, and show the next question.

    `number` is that of the program, which is another one each time that all is asked `again`. After the last question,
    return a table of lessons with what to do in each. Returns a `Reply` while nbgrader runs the notebook, or if the
    course's sources are not installed.
    """
    if being_graded():
        return Reply((message("run.checking", name="placement"),))
    tables = _tables()
    if not tables:
        return Reply((message("placement.absent"),))
    if name and name not in {each.name for each in tables}:
        return Reply((message("placement.unknown", name=name),))
    said = _judged(exercises.find(name), answers or {}, number) if name else None
    history = read_history()
    answered, done = _answered(history), _done_lessons(history)
    now = max((check.variant or 1 for check in answered.values()), default=1) + again
    asked = [each for each in tables if _is_short(each)]
    current = {name for name, check in answered.items() if (check.variant or 1) == now}
    left = [each for each in asked if not (each.name in current or each.lesson in done)]
    if not left:
        return _proposal(tables, answered, done)
    total = sum(each.name in current for each in asked) + len(left)
    return _show(left[0], now, total - len(left) + 1, total, said)


def skipped_lessons(history: History) -> set[str]:
    """Return the lessons whose question was answered rightly the last time that it was asked."""
    return {check.verdict.lesson for check in _answered(history).values() if _is_right(check)}


def _is_right(check: Check) -> bool:
    return check.verdict.state == VerdictState.PASSED


def _done_lessons(history: History) -> set[str]:
    """Return the lessons whose core exercises have all passed. They are not asked about."""
    best = standings(history.verdicts())
    passed = {name for name, standing in best.items() if standing.best.state == VerdictState.PASSED}
    core = {
        lesson: {each.name for each in exercises.load(lesson).values() if each.core} for lesson in exercises.lessons()
    }
    return {lesson for lesson, names in core.items() if names and names <= passed}


@cache
def _tables_of(lessons: tuple[str, ...]) -> tuple[Exercise, ...]:
    """Return the first core table of predictions of each lesson, if it has one."""
    found = (
        next((each for each in exercises.load(lesson).values() if each.core and variants_of(each).programs), None)
        for lesson in lessons
        if lesson_source(lesson)
    )
    return tuple(filter(None, found))


def _tables() -> tuple[Exercise, ...]:
    """Return the tables of the lessons on the learner's path, in the order of the course."""
    path = chosen_path()
    known = exercises.lessons() if path is None else [exercises.bare(each) for each in path.counts]
    return _tables_of(tuple(sorted(known, key=lambda lesson: title_of_lesson(lesson, "en"))))


def _answered(history: History) -> dict[str, Check]:
    """Return a dict from exercise to the last answer to its question."""
    return {check.verdict.exercise: check for check in history.checks if check.question is QuestionKind.ROWS}


def _is_short(exercise: Exercise) -> bool:
    """Return whether a table's program can be read for a question."""
    return program_of(exercise, 1).count("\n") < _LINES


def _question(exercise: Exercise, number: int) -> str:
    """Return the code of a cell that asks for the hard rows of a table."""
    table, code = table_of(exercise, number), program_of(exercise, number)
    asked = message("placement.row", function=table.function).read(SESSION.speaks)
    stub = table.stub("answers", hard_rows(table))
    variant = f", variant={number}" if number > 1 else ""
    calls = f'from autograder import placement\n\nplacement("{exercise.name}", answers{variant})'
    return "\n\n\n".join([code, f"# {asked}\n{stub}\n\n{calls}"])


def _judged(exercise: Exercise, answers: Mapping[str, object], number: int) -> Text:
    """Judge the answers to some rows, record them, and return a sentence on them."""
    verdict, table = judge_rows(exercise, number, answers), table_of(exercise, number)
    record(verdict, variant=number, question=QuestionKind.ROWS)
    if verdict.state == VerdictState.PASSED:
        return message("placement.right")
    rows = hard_rows(table)
    if all(answers.get(label, ...) is ... for label in rows):
        return message("placement.unknown_answer")
    return message("placement.wrong", right=len(rows) - len(wrong_rows(verdict, table)), total=len(rows))


def _show(exercise: Exercise, number: int, place: int, total: int, said: Text | None) -> Prose:
    language, ipython, cell = SESSION.speaks, shell(), _question(exercise, number)
    title = title_of_lesson(exercise.lesson, language)
    parts = [said.read(language)] if said else [message("placement.about", total=total).read(language)]
    parts.append(message("placement.title", number=place, total=total, lesson=title).read(language))
    if ipython:
        ipython.set_next_input(cell, replace=False)
        parts.append(message("placement.cell").read(language))
    else:
        parts.append(f"~~~~python\n{cell}\n~~~~")
    return Prose(Text.same("\n\n".join(parts)))


def _proposal(tables: tuple[Exercise, ...], answered: Mapping[str, Check], done: set[str]) -> TableReply:
    """Return a table of lessons with what to do in each: skip it, begin there, or do a part.

    `answered` maps tables to the last answer to their question; lessons in `done` are done.
    """
    language = SESSION.speaks

    def say(id: str, **parameters: object) -> str:
        return message(id, **parameters).read(language)

    known = {name for name, check in answered.items() if _is_right(check)}
    first = next((each for each in tables if not (each.name in known or each.lesson in done)), None)
    rows = []
    for each in tables:
        check = answered.get(each.name)
        mark = "" if each.lesson in done or check is None else "✓" if each.name in known else "✗"
        if each.lesson in done:
            proposal = say("placement.finished")
        elif each.name in known:
            proposal = say("placement.skip")
        else:
            part = _part_to_do(each, check) if check else ()
            proposal = (
                say("placement.part", names=", ".join(f"`{name}`" for name in part)) if part else say("placement.do")
            )
        if each is first:
            proposal = say("placement.begin", proposal=proposal)
        rows.append((title_of_lesson(each.lesson, language), mark, proposal))
    head = (say("progress.lesson"), say("placement.answer"), say("placement.proposal"))
    return TableReply(say("placement.done"), head, tuple(rows), (say("placement.below"),))


def _part_to_do(exercise: Exercise, check: Check) -> tuple[str, ...]:
    """Return the table and the exercise that counts most against what was wrong in it.

    Returns () if all rows were wrong.
    """
    table = table_of(exercise, check.variant or 1)
    wrong = wrong_rows(check.verdict, table)
    if len(wrong) == len(hard_rows(table)):
        return ()
    misconceptions = exercises.misconceptions_of(exercise)
    themes = {
        misconceptions[name].theme
        for name, each in table.mistaken.items()
        if any(each[label] != table.right[label] for label in wrong)
    }
    others = [each for each in exercises.load(exercise.lesson).values() if each.core and each.asks_for != "dict"]

    def share(other: Exercise) -> float:
        named = exercises.misconceptions_of(other).values()
        return sum(each.theme in themes for each in named) / max(len(named), 1)

    return (exercise.name, max(others, key=share).name) if others else (exercise.name,)
