"""`review()`: short questions on exercises that are due, ten minutes at most."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

from ...checking.exercise import Exercise
from ...history import Check, History, read_history
from ...language import LANGUAGES, MINUTE, Text
from ...messages.learners import message
from ...session import SESSION
from ..cells_run import shell
from ..notebooks.headings import title_of_lesson
from ..replies import Prose, Reply, TableReply
from .counting import describe_result
from .questions import Question, question_on
from .schedule import DAY, Schedule, climb, make_schedule
from .statement import exercise_label

AT_ONCE = 10  # minutes
_MOST = 8  # exercises looked at: drawing a table runs its program


def offer(answers: Mapping[str, object] | None, asked: str) -> Prose | Reply:
    """Show questions on what is due, and put a cell for the answers below, or count `answers` to those of a day.

    `asked` is the day on which they were asked, such as "2026-11-29".
    """
    said = [*_count(answers, asked)] if answers else []
    history, now = read_history(), time.time()
    schedule = make_schedule(history, now)
    warnings = list(_warnings(history, schedule))
    if not schedule.due:
        return Reply((*said, message("review.none"), *_outlook(schedule), *warnings))
    if answers:
        return Reply((*said, message("review.left", count=len(schedule.due)), *warnings))
    questions, whole = choose_questions(schedule.due, history.checks)
    ipython = shell()
    pages = [_page(schedule, questions, whole, one, is_shown=ipython is None) for one in LANGUAGES]
    if ipython and questions:
        ipython.set_next_input(_cell(questions, SESSION.speaks), replace=False)
    return Prose(
        Text(*("\n\n".join([page, *(each.read(one) for each in warnings)]) for page, one in zip(pages, LANGUAGES)))
    )


def choose_questions(due: Sequence[Exercise], checks: Sequence[Check]) -> tuple[list[Question], list[Exercise]]:
    """Return questions on the first exercises that take ten minutes at most, and the exercises without a question."""
    questions, whole, minutes = list[Question](), list[Exercise](), 0
    for exercise in due[:_MOST]:
        question = question_on(exercise, checks)
        if question is None:
            whole.append(exercise)
        elif not questions or minutes + question.minutes <= AT_ONCE:
            questions.append(question)
            minutes += question.minutes
    return questions, whole


def list_due(language: str) -> TableReply | Reply:
    """Return a table of all exercises that are due, for a terminal, or a `Reply` if none is."""
    history, now = read_history(), time.time()
    schedule, rungs = make_schedule(history, now), climb(history.checks, now)
    warnings = list(_warnings(history, schedule))
    SESSION.language = language
    if not schedule.due:
        return Reply((message("review.none"), *_outlook(schedule), *warnings))

    def say(id: str) -> str:
        return message(id).read(language)

    titles = {each.lesson: title_of_lesson(each.lesson, language) for each in schedule.due}
    rows = []
    for each in schedule.due:
        days = int((now - (rungs[each.name].due or now)) // DAY)
        mistaken = say("review.yes") if each.name in schedule.mistaken else ""
        rows.append((titles[each.lesson], exercise_label(each, language), str(days or say("review.today")), mistaken))
    head = tuple(say(id) for id in ("progress.lesson", "progress.exercise", "review.since", "review.mistake"))
    title = message("review.title", count=len(rows)).read(language)
    below = (say("review.command"), *(each.read(language) for each in warnings))
    return TableReply(title, head, tuple(rows), below)


def _page(
    schedule: Schedule, questions: list[Question], whole: list[Exercise], language: str, *, is_shown: bool
) -> str:
    """Return all questions in Markdown, with the cell for the answers if it `is_shown` as text."""

    def say(id: str, **parameters: object) -> str:
        return message(id, **parameters).read(language)

    minutes = MINUTE.counted(sum(each.minutes for each in questions), language)
    parts = [say("review.now", count=len(schedule.due), shown=len(questions), minutes=minutes)]
    for number, each in enumerate(questions, 1):
        parts += ["---", f"**{number}. {exercise_label(each.exercise, language)}**", each.text(language)]
    parts.append("---")
    if whole:
        parts.append(say("review.whole", calls=", ".join(f'`again("{each.name}")`' for each in whole)))
    if questions:
        parts += [
            say("review.then", name=questions[-1].exercise.name),
            say("review.text" if is_shown else "review.cell"),
        ]
        parts += [f"~~~~python\n{_cell(questions, language)}\n~~~~"] if is_shown else []
    return "\n\n".join(parts)


def _cell(questions: list[Question], language: str) -> str:
    """Return the code of a cell with a place for each answer."""
    lines = []
    for each in questions:
        blank, comment = each.blank(language)
        lines.append(f'        "{each.exercise.name}": {blank},{f"  # {comment}" if comment else ""}')
    answers = "\n".join(["    {", *lines, "    },"])
    return f'from autograder import review\n\nreview(\n{answers}\n    asked="{_today()}",\n)'


def _today() -> str:
    return datetime.fromtimestamp(time.time()).date().isoformat()


def _count(answers: Mapping[str, object], asked: str) -> Iterator[Text]:
    """Record each answer that counts, and yield a sentence on it. One left as `...` is skipped.

    An answer counts if its exercise is due, and nothing was reviewed since the day on which it was `asked`. Whoever
    runs an old cell again has not answered again.
    """
    for name, answer in answers.items():
        if answer is ...:
            continue
        history, now = read_history(name), time.time()
        exercise = next((each for each in make_schedule(history, now).due if each.name == name), None)
        rung = climb(history.checks, now).get(name)
        if exercise is None or rung is None or rung.since >= _begin_of(asked):
            yield message("review.not_counted", name=name)
            continue
        question = question_on(exercise, history.checks)
        marked = question.mark(answer) if question else None
        if marked is None:
            yield message("review.unreadable", name=name)
            continue
        yield describe_result(exercise, *marked)


def _begin_of(day: str) -> float:
    """Return the first moment of a day, in seconds since 1970, or 0 if the text is no day."""
    try:
        return datetime.combine(date.fromisoformat(day), datetime.min.time()).timestamp()
    except ValueError:
        return 0


def _outlook(schedule: Schedule) -> Iterator[Text]:
    """Yield a sentence on the day when something is due."""
    if schedule.later is None:
        yield message("review.never")
    else:
        yield message("review.later", date=f"{datetime.fromtimestamp(schedule.later):%Y-%m-%d}")


def _warnings(history: History, schedule: Schedule) -> Iterator[Text]:
    """Yield a sentence on each thing in the history that is not as it should be."""
    for id, count in (("ahead", schedule.ahead), ("broken", history.broken), ("foreign", history.foreign)):
        if count:
            yield message(f"review.{id}", count=count)
    for id, names in (("gone", schedule.gone), ("changed", schedule.changed)):
        if names:
            yield message(f"review.{id}", names=", ".join(f"`{name}`" for name in names))
    if history.refused:
        yield message("review.refused", error=history.refused)
