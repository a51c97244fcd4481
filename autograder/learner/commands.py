"""Commands for learners' notebooks, such as start, check, hint and ready."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import exercises
from ..checking.containment.time_limit import has_timer
from ..checking.devices.device_run import DEVICE, is_about_devices
from ..checking.devices.place import Place, UnknownDevice, find_place
from ..checking.exercise import PUBLIC_SEED, Case, Exercise, is_open
from ..checking.expected import Expected
from ..checking.judge import judge, screen, unobserved
from ..checking.observe import code_digest, observe
from ..checking.verdict import AspectState, Finding, Verdict, VerdictState
from ..history import folder, record, standings, verdicts
from ..language import LANGUAGES, Note, Text
from ..messages.cards import message
from ..messages.torch_errors.silent import silent_mistakes
from ..session import SESSION, being_graded
from ..torch_versions import newer_torch
from .cells_run import remember_cells, show_cards_in_terminal, unfinished
from .replies import Programs, Prose, Reply, Table
from .verdict_notes import with_cell_above, with_first_table, with_note_once, with_why, with_worth

if TYPE_CHECKING:
    from .points import LessonNotebook
    from .progress.tables import Contents


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
    _attend()
    from .greeting import describe_return
    from .points import describe_due_date

    notebook = _saved_notebook(known)
    again = describe_return(SESSION.lesson, notebook, new_kernel=new_kernel)
    ready = message("start.ready", count=len(known), points=f"{notebook.total():g}")
    newer = [message("torch.newer", **parameters)] if (parameters := newer_torch()) else []
    elsewhere = [message(f"start.device.{_kind_of(place)}", device=place.name)] if place else []
    due = describe_due_date(notebook.metadata)
    return Reply((ready, *again, *elsewhere, *notebook.describe_written(), *due, *newer))


def _saved_notebook(known: dict[str, Exercise]) -> LessonNotebook:
    """Return the learner's notebook as last saved.

    The points in the notebook may differ from those in the exercise modules, because an instructor can change them.
    """
    from .points import saved_notebook

    return saved_notebook(known)


def _attend() -> None:
    """Make IPython explain torch's errors and record each cell that is run. Speak the notebook's language."""
    from .tracebacks import explain_torch_errors

    explain_torch_errors()
    remember_cells()
    show_cards_in_terminal()
    if SESSION.lesson is None:  # a new kernel in which nobody has run `start` yet
        notebook = _saved_notebook({}).metadata.get("autograder", {})
        language = notebook.get("language")
        SESSION.language = SESSION.language or (language if language in LANGUAGES else None)


def check(
    name: str = "", *, variant: int | None = None, personal: int | None = None, device: object = None
) -> Verdict | Reply:
    """Check the answer to exercise `name`, or to the exercise that was checked last.

    `variant` is the number of a variant that `again` has shown. The verdict on a variant earns no points.

    `personal` is the number of a table of predictions in a notebook that was handed out to one student. It is the
    exercise itself in that notebook, and earns its points.

    `device` is a name such as "cuda", "mps" or "xpu". An answer that is right on the CPU then runs on that device as
    well, if the exercise is about any device. One that this machine lacks is pretended. The result there is shown with
    its errors, and neither recorded nor graded.

    The notebook shows the returned verdict as a card, and nbgrader reads it as a number. Returns a `Reply` if no
    exercise has this name, or while nbgrader grades the notebook. Never raises.
    """
    return check_in(sys._getframe(1).f_globals, name, variant, device, personal)


def check_in(
    namespace: Mapping[str, Any],
    name: str = "",
    variant: int | None = None,
    device: object = None,
    personal: int | None = None,
) -> Verdict | Reply:
    """Check an answer that is defined in `namespace`, as `check` does."""
    _attend()
    device = device or SESSION.device
    try:
        exercise = _exercise(name)
    except exercises.Unknown as unknown:
        return Reply((unknown.says,), value="0")
    if being_graded() == "autograde" and not exercises.key_path(exercise).is_file():
        return Reply((message("check.graded"),))  # the isolated process has no expected results
    if variant is not None:
        from .reviews.again import why_no_variant

        if refused := why_no_variant(exercise, variant):
            return Reply((refused,))
    if personal is not None:
        from .reviews.again import why_no_personal

        if refused := why_no_personal(exercise, personal):
            return Reply((refused,), value="0")
    try:
        place = None if being_graded() else find_place(device or "cpu")
    except UnknownDevice as unknown:
        return Reply((message("unknown.device", name=str(unknown)),), value="0")
    number = personal if variant is None else variant
    SESSION.varied.discard(exercise.name) if number is None else SESSION.varied.add(exercise.name)
    verdict = replace(_judged(exercise, namespace, variant=number), language=SESSION.language)
    verdict = with_cell_above(verdict, namespace)
    if variant is None:
        verdict = with_worth(exercise, with_first_table(exercise, verdict))
    else:
        verdict = replace(verdict, notes=(*verdict.notes, Note("note.variant", {"name": exercise.name})))
    SESSION.last.pop(exercise.name, None)
    SESSION.last[exercise.name] = verdict
    from .reviews.review import is_review, review_notes

    reviewed = is_review(exercise, verdict, namespace, variant)
    recorded = record(verdict, is_review=reviewed, variant=variant)
    verdict = replace(verdict, notes=(*verdict.notes, *review_notes(exercise, verdict, counts=reviewed)))
    if not recorded:
        verdict = with_note_once(verdict, Note("note.unrecorded", {"folder": str(folder())}))
    if not has_timer():
        verdict = with_note_once(verdict, Note("note.no_time_limit", {}))
    if verdict.state == VerdictState.NOT_YET and not being_graded():
        verdict = replace(verdict, notes=(*silent_mistakes(namespace[exercise.asks]), *verdict.notes))
    if being_graded() == "validate" and verdict.state != VerdictState.PASSED:
        lines = (textwrap.fill(line, 78, subsequent_indent="    ") for line in str(verdict).splitlines())
        print(*lines, sep="\n", file=sys.stderr)  # nbgrader's Validate shows only stderr, cut at 90 columns
    if place and variant is None:
        verdict = _checked_at(place, exercise, namespace, verdict)
    elif _wrong_elsewhere_alone(verdict):
        verdict = replace(verdict, notes=(*verdict.notes, Note("note.device.try", {"name": exercise.name})))
    return with_why(exercise, verdict) if number is None else verdict  # a variant may be about another program


def _checked_at(place: Place, exercise: Exercise, namespace: Mapping[str, Any], verdict: Verdict) -> Verdict:
    """Return the verdict on an answer at `place`, with a note on the device.

    It is `verdict`, that of the CPU, if the answer must be right there first or the exercise is about no device.
    """
    if not is_about_devices(exercise) or exercise.withdrawn:
        note = Note("note.device.none", {})
    elif verdict.state != VerdictState.PASSED and not _wrong_elsewhere_alone(verdict):
        note = Note("note.device.later", {"device": place.name})
    else:
        note = Note(f"note.device.{_kind_of(place)}", {"device": place.name})
        verdict = replace(_judged(exercise, namespace, place), language=verdict.language)
    return replace(verdict, notes=(note, *verdict.notes))


def _wrong_elsewhere_alone(verdict: Verdict) -> bool:
    """Return whether an answer is right on the CPU and wrong on another device."""
    return {each.name for each in verdict.aspects if each.state != AspectState.RIGHT} == {DEVICE}


def _kind_of(place: Place) -> str:
    """Return the part of a sentence's id that tells a real device from a pretended one."""
    return "pretended" if place.pretended else "real"


def _judged(
    exercise: Exercise, namespace: Mapping[str, Any], place: Place | None = None, variant: int | None = None
) -> Verdict:
    if not exercise.withdrawn and (ended := unfinished(exercise.asks)):
        return unobserved(exercise, VerdictState.NOT_ATTEMPTED, ended)
    screened = screen(exercise, namespace)
    if screened:
        return screened
    try:
        expected = exercises.key_of(exercise).expected if variant is None else _expected(exercise, variant)
    except (OSError, LookupError, ValueError) as error:
        fault: dict[str, object] = {"exercise": exercise.name, "error": f"{type(error).__name__}: {error}"}
        return unobserved(exercise, VerdictState.OUR_ERROR, Note("fault.probe", fault))
    answer = namespace[exercise.asks]
    return judge(exercise, observe(exercise, answer, expected.seed, place), expected, lambda: code_digest(answer))


def _expected(exercise: Exercise, variant: int) -> Expected:
    from .reviews.again import expected_of

    return expected_of(exercise, variant)


def _exercise(name: str) -> Exercise:
    """Return the exercise called `name`. An empty name stands for the exercise that was checked last.

    Raises Unknown if there is no such exercise, or nothing was checked yet.
    """
    return exercises.find(name or next(reversed(SESSION.last), ""), SESSION.lesson)


def hint(name: str = "", number: int | None = None) -> Reply:
    """Return the hints for exercise `name` up to number `number`, or up to the next one if `number` is None.

    Without a name, the exercise is the one that was checked last. An exercise has three hints, which cost no points.
    """
    try:
        exercise = _exercise(name)
    except exercises.Unknown as unknown:
        return _unknown(name, unknown)
    total = len(exercise.hints)
    number = min(max(number or SESSION.hints.get(exercise.name, 0) + 1, 1), total)
    SESSION.hints[exercise.name] = number
    parts: list[Text | str] = []
    for shown, says in enumerate(exercise.hints[:number], 1):
        is_code = "\n" in says.read("en")
        parts += [message("hint.title", number=shown, total=total), says.read(SESSION.speaks) if is_code else says]
    if exercise.kind == "predict" and exercise.name in SESSION.varied:
        parts.append(message("hint.varied"))
    after = "hint.next" if number < total else "hint.last"
    return Reply((*parts, message(after, exercise=exercise.name)))


def solution(name: str = "", *, give_up: bool = False) -> Programs | Prose | Reply:
    """Return the course's solution of exercise `name` and alternatives to it.

    Without a name, the exercise is the one that was checked last. If the learner has not passed the check and `give_up`
    is False, the reply only says so. Of a question that is answered in words, return the rubric and a model answer.
    """
    from ..lessons.source import model_answer, solutions

    try:
        exercise = _exercise(name)
    except exercises.Unknown as unknown:
        answer = model_answer(SESSION.lesson or "", name) if give_up else None
        return Prose(answer) if answer else _unknown(name, unknown)
    if not give_up and not _has_passed(exercise.name):
        return Reply((message("solution.locked", exercise=exercise.name),))
    found = solutions(exercise)
    if not found:
        return Reply((message("solution.absent"),))
    return Programs(message("solution.ours", total=len(found)), tuple(found))


def why(name: str = "") -> Reply:
    """Return the question that the card of exercise `name` asks after a passed check, and our answer to it.

    Without a name, the exercise is the one that was checked last. If the learner has not passed the check, or the
    exercise has no such question, the reply says so. While nbgrader runs the notebook, it says nothing else.
    """
    try:
        exercise = _exercise(name)
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
    exercise = _exercise(name)
    if being_graded() == "autograde":
        return Reply((message("check.graded"),))
    last = SESSION.last.get(exercise.name)
    failed = last.finding if last and last.finding and is_open(last.finding.seed) else Finding()
    case = exercise.failing_case(failed.seed or PUBLIC_SEED, failed.case, failed.aspect)
    return case if vars(case) else Reply((message("reproduce.nothing", name=exercise.name),))


def progress() -> Table | Reply:
    """Return a table of the exercises checked so far.

    A row shows the state, points and number of checks of an exercise of this lesson, or of another lesson as a whole.
    The history of checks is stored in a file and survives a restart of the kernel. Returns a `Reply` if nothing was
    checked yet, or while nbgrader runs the notebook.
    """
    from .progress.tables import progress_table

    return progress_table()


def review() -> Prose | Reply:
    """Ask again for exercises that passed some time ago: after 1, 3, 7 and 21 days, misconceptions first.

    Lists up to three that are due, and shows the statement of the first. A new cell holds a stub and the check; it is
    the next input in IPython. `check` counts the result. Outside IPython all three are shown as text. Returns a `Reply`
    if nothing is due, or while nbgrader runs the notebook.
    """
    from .reviews.review import offer

    _attend()
    return offer()


def again(name: str = "") -> Prose | Reply:
    """Show exercise `name`, or the one that was checked last, once more: with a fresh stub and new cases.

    A table of predictions is about another program. The new cell's check is that of the variant, as in
    `check(name, variant=3)`: it earns no points. Returns a `Reply` if there is no such exercise, or while nbgrader runs
    the notebook.
    """
    from .reviews.again import offer_variant

    _attend()
    try:
        return offer_variant(_exercise(name))
    except exercises.Unknown as unknown:
        return Reply((unknown.says,))


def placement(name: str = "", answer: object = None, *, language: str | None = None) -> Prose | Reply | Table:
    """Ask the hardest row of each lesson's table, one after the other, and propose which lessons to skip.

    `placement()` shows the next question in a new cell. That cell calls `placement(name, answer)`; an answer of `...`
    means "I do not know". The answers are kept, so that a question is asked once. Lessons that are done are not asked
    about. `language` is "en" or "ru", or None for the notebook's.
    """
    from .reviews.placement import ask

    _attend()
    if language in LANGUAGES:
        SESSION.language = language
    return ask(name, answer)


def contents(language: str | None = None) -> Contents:
    """Return the course's page of contents: lessons with links, minutes, and what has been done so far.

    `language` is "en" or "ru", or None for the notebook's.
    """
    from .progress.tables import Contents

    return Contents(language if language in LANGUAGES else SESSION.speaks)


def ready(path: str | None = None) -> Table | Reply:
    """Try the notebook before it is handed in: run the saved file in a fresh process.

    Returns a table of the notebook's points, with a list of problems to fix below the table. Returns a `Reply` that
    names the cause if the notebook cannot be run. `path` is needed only if the notebook's path cannot be detected.
    """
    from .ready import rehearse

    return rehearse(path)
