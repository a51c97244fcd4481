"""The commands `start`, `hint`, `solution`, `why`, `progress` and others of learners' notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import exercises
from ..checking.devices.place import UnknownDevice, find_place
from ..checking.exercise import PUBLIC_SEED, Case, is_open
from ..checking.verdict import Finding, VerdictState
from ..history import standings, verdicts
from ..language import LANGUAGES, Text, with_offset
from ..messages.learners import message
from ..session import SESSION, being_graded
from ..torch_versions import newer_torch
from .checks.asked import exercise_called
from .kernel import attend
from .points import closed_until, describe_due_date, saved_notebook
from .replies import ProgramList, Prose, Reply, TableReply

if TYPE_CHECKING:
    from .progress.contents import Contents


def start(lesson: str = "", *, language: str | None = None, device: object = None) -> Reply:
    """Set the lesson and the language of this notebook, and return a greeting.

    `lesson` is a name such as "gradient_accumulation", or "" for a notebook without exercises. `language` is "en",
    "ru", or None to show both. On `device`, such as "cuda", every check of this notebook runs once more, as
    `check(name, device=device)` does.
    """
    if language is not None and language not in LANGUAGES:
        return Reply((message("unknown.language", name=language),))
    SESSION.language = language
    try:
        place = find_place(device or "cpu")
    except UnknownDevice as unknown:
        return Reply((message("unknown.device", name=str(unknown)),))
    SESSION.device = place.name if place else None
    if not lesson:
        return Reply((message("start.page"),))
    try:
        known = exercises.load(lesson)
    except exercises.Unknown as unknown:
        return Reply((unknown.says,))
    new_kernel = SESSION.lesson is None
    SESSION.lesson = exercises.bare(lesson)
    attend()
    from .greeting import describe_path, describe_return

    notebook = saved_notebook(known)
    again = (
        *describe_path(SESSION.lesson, notebook),
        *describe_return(SESSION.lesson, notebook, new_kernel=new_kernel),
    )
    ready = message("start.ready", count=len(known), points=f"{notebook.total():g}")
    newer = [message("torch.newer", **parameters)] if (parameters := newer_torch()) else []
    elsewhere = [message(f"start.device.{place.kind}", device=place.name)] if place else []
    due = describe_due_date(notebook.metadata)
    return Reply((ready, *again, *elsewhere, *notebook.describe_written(), *due, *newer))


def hint(name: str = "", number: int | None = None) -> Reply:
    """Return the hints for exercise `name` up to `number`, or up to the next one if it is None.

    Without a name, the exercise is the one that was checked last. An exercise has three hints, which cost no points.
    """
    try:
        exercise = exercise_called(name)
    except exercises.Unknown as unknown:
        return _unknown(name, unknown)
    total = len(exercise.hints)
    number = min(max(number or SESSION.hints.get(exercise.name, 0) + 1, 1), total)
    SESSION.hints[exercise.name] = number
    parts: list[Text | str] = []
    for shown, says in enumerate(exercise.hints[:number], 1):
        is_code = "\n" in says.read("en")
        title = "hint.blanks" if is_code and shown == total else "hint.title"
        parts += [message(title, number=shown, total=total), says.read(SESSION.speaks) if is_code else says]
    if exercise.kind == "predict" and exercise.name in SESSION.varied:
        parts.append(message("hint.varied"))
    if number < total:
        parts.append(message("hint.next", exercise=exercise.name))
    elif closed := closed_until(saved_notebook({}).metadata):
        parts.append(message("hint.last.closed", time=with_offset(closed)))
    else:
        parts.append(message("hint.last", exercise=exercise.name))
    return Reply(tuple(parts))


def solution(name: str = "", *, give_up: bool = False) -> ProgramList | Prose | Reply:
    """Return the course's solution of exercise `name` and alternatives to it.

    Without a name, the exercise is the one that was checked last. If the learner has not passed the check and `give_up`
    is False, the reply only says so, and also if an instructor has closed the solutions until a later time. Of a
    question that is answered in words, return the rubric and a model answer.
    """
    from ..lessons.source import model_answer, solutions

    closed = closed_until(saved_notebook({}).metadata)
    closed_reply = Reply((message("solution.closed", time=with_offset(closed)),)) if closed else None
    try:
        exercise = exercise_called(name)
    except exercises.Unknown as unknown:
        answer = model_answer(SESSION.lesson or "", name) if give_up else None
        return (closed_reply or Prose(answer)) if answer else _unknown(name, unknown)
    if not _has_passed(exercise.name):
        if closed_reply:
            return closed_reply
        if not give_up:
            return Reply((message("solution.locked", exercise=exercise.name),))
    found = solutions(exercise)
    if not found:
        return Reply((message("solution.absent"),))
    return ProgramList(message("solution.ours", total=len(found)), tuple(found))


def why(name: str = "") -> Reply:
    """Return the question on the card of a passed check of exercise `name`, and our answer to it.

    Without a name, the exercise is the one that was checked last. If the learner has not passed the check, or the
    exercise has no such question, the reply says so. While nbgrader runs the notebook, it says nothing else.
    """
    try:
        exercise = exercise_called(name)
    except exercises.Unknown as unknown:
        return _unknown(name, unknown)
    if being_graded():
        return Reply((message("run.checking", name="why"),))
    if exercise.why is None:
        return Reply((message("why.absent", exercise=exercise.name),))
    if not _has_passed(exercise.name):
        return Reply((message("why.locked", exercise=exercise.name),))
    return Reply((exercise.why.question, exercise.why.because))


def _has_passed(name: str) -> bool:
    """Return whether the learner has passed the check of an exercise, in this session or before."""
    last, standing = SESSION.last.get(name), standings(verdicts(name)).get(name)
    states = (last and last.state, standing and standing.best.state)
    return VerdictState.PASSED in states


def _unknown(name: str, unknown: exercises.Unknown) -> Reply:
    """Return the reply to a name that no exercise has. It may be that of a question in words."""
    from ..lessons.source import model_answer

    asked = name and model_answer(SESSION.lesson or "", name)
    return Reply((message("question.unchecked", name=name) if asked else unknown.says,))


def reproduce(name: str = "") -> Case | Reply:
    """Return a new copy of the public case with which the last check of exercise `name` failed.

    Without a name, the exercise is the one that was checked last. If no check failed, return the first public case.
    Returns a `Reply` if the case has no inputs, or while nbgrader grades the notebook.
    Raises Unknown if no exercise has this name.
    """
    exercise = exercise_called(name)
    if being_graded() == "autograde":
        return Reply((message("check.graded"),))
    last = SESSION.last.get(exercise.name)
    failed = last.finding if last and last.finding and is_open(last.finding.seed) else Finding()
    case = exercise.failing_case(failed.seed or PUBLIC_SEED, failed.case, failed.aspect)
    return case if vars(case) else Reply((message("reproduce.nothing", name=exercise.name),))


def progress() -> TableReply | Reply:
    """Return a table of the exercises checked so far.

    A row shows the state, points and number of checks of an exercise of this lesson, or of another lesson as a whole.
    The history of checks is stored in a file and survives a restart of the kernel. Returns a `Reply` if nothing was
    checked yet, or while nbgrader runs the notebook.
    """
    from .progress.tables import progress_table

    return progress_table()


def recall(*right: bool) -> Prose | Reply:
    """Ask two questions on what this lesson builds on. Without points.

    `recall()` shows them, each with our answer behind a click; `recall(True, False)` says of each whether the learner
    was right. Wrong ones come first the next time. Returns a `Reply` if the lesson builds on no other, or while
    nbgrader runs the notebook.
    """
    from .reviews.recall import ask_recall

    attend()
    return ask_recall(right)


def review(answers: Mapping[str, object] | None = None, *, asked: str = "") -> Prose | Reply:
    """Ask short questions on what passed some time ago: after 1, 3, 7 and 21 days, misconceptions first.

    `review()` shows questions for about ten minutes, and puts a cell for the answers below. That cell calls
    `review(answers, asked=...)`, which counts them and says what is left. `answers` is a dict from exercise name to an
    answer, `asked` the day of the questions. Returns a `Reply` if nothing is due, or while nbgrader runs the notebook.
    """
    if being_graded():  # there are no mistakes there, and so no questions
        return Reply((message("run.checking", name="review"),))
    from .reviews.review import offer

    attend()
    return offer(answers, asked)


def again(name: str = "") -> Prose | Reply:
    """Show exercise `name`, or the one that was checked last, once more: with a fresh stub and new cases.

    A table of predictions is about another program. The new cell's check is that of the variant, as in
    `check(name, variant=3)`: it earns no points. Returns a `Reply` if there is no such exercise, or while nbgrader runs
    the notebook.
    """
    from .reviews.again import offer_variant

    attend()
    try:
        return offer_variant(exercise_called(name))
    except exercises.Unknown as unknown:
        return Reply((unknown.says,))


def placement(
    name: str = "",
    answers: Mapping[str, object] | None = None,
    *,
    variant: int = 1,
    again: bool = False,
    language: str | None = None,
) -> Prose | Reply | TableReply:
    """Ask the hard rows of each lesson's table, lesson by lesson, and propose what to skip and what to do.

    `placement()` shows the next question in a new cell. That cell calls `placement(name, answers)`; an answer of `...`
    means "I do not know". The answers are kept, so that a question is asked once; `placement(again=True)` asks all of
    them once more, about other programs. Lessons that are done are not asked about, nor is one whose program is long.
    `language` is "en" or "ru", or None for the notebook's.
    """
    from .reviews.placement import ask

    attend()
    if language in LANGUAGES:
        SESSION.language = language
    return ask(name, answers, variant, again=again)


def contents(language: str | None = None, *, path: str | None = None) -> Contents | Reply:
    """Return the course's page of contents: lessons with links, minutes, and what has been done so far.

    `language` is "en" or "ru", or None for the notebook's. `path` chooses a path through the lessons, such as
    "six-weeks", for this and all later calls; "all" goes back to the whole course.
    """
    from ..lessons.paths import path_names
    from .chosen_path import WHOLE, choose_path
    from .progress.contents import Contents

    if path is not None:
        if path not in (WHOLE, *path_names()):
            return Reply((message("contents.unknown_path", name=path, names=", ".join(path_names())),))
        try:
            choose_path(path)
        except OSError as error:
            return Reply((message("contents.not_kept", error=error.strerror or error),))
    return Contents(language if language in LANGUAGES else SESSION.speaks)


def ready(path: str | None = None) -> TableReply | Reply:
    """Try the notebook before it is handed in: run the saved file in a fresh process.

    Returns a table of the notebook's points, with a list of problems to fix below the table. Returns a `Reply` that
    names the cause if the notebook cannot be run. `path` is needed only if the notebook's path cannot be detected.
    """
    from .ready import rehearse

    return rehearse(path)
