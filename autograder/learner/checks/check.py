"""The command `check`, from an answer to a verdict with notes."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ... import exercises
from ...checking.containment.memory_limit import memory_limited
from ...checking.containment.time_limit import has_timer
from ...checking.devices.device_run import DEVICE, is_about_devices
from ...checking.devices.place import Place, UnknownDevice, find_place
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...checking.judge import judge, screen, unobserved
from ...checking.observe import code_digest, observe
from ...checking.verdict import AspectState, Verdict, VerdictState
from ...history import folder, record
from ...language import Note
from ...messages.cards import message
from ...messages.torch_errors.silent import silent_mistakes
from ...session import SESSION, being_graded
from ..cells_run import unfinished
from ..kernel import attend
from ..replies import Reply
from .verdict_notes import with_cell_above, with_first_table, with_note_once, with_why, with_worth


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
    attend()
    device = device or SESSION.device
    try:
        exercise = exercise_called(name)
    except exercises.Unknown as unknown:
        return Reply((unknown.says,), value="0")
    if being_graded() == "autograde" and not exercises.key_path(exercise).is_file():
        return Reply((message("check.graded"),))  # the isolated process has no expected results
    if variant is not None:
        from ..reviews.again import why_no_variant

        if refused := why_no_variant(exercise, variant):
            return Reply((refused,))
    if personal is not None:
        from ..reviews.again import why_no_personal

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
    from ..reviews.review import is_review, review_notes

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
        note = Note(f"note.device.{kind_of(place)}", {"device": place.name})
        verdict = replace(_judged(exercise, namespace, place), language=verdict.language)
    return replace(verdict, notes=(note, *verdict.notes))


def _wrong_elsewhere_alone(verdict: Verdict) -> bool:
    """Return whether an answer is right on the CPU and wrong on another device."""
    return {each.name for each in verdict.aspects if each.state != AspectState.RIGHT} == {DEVICE}


def kind_of(place: Place) -> str:
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
    with memory_limited():
        runs = observe(exercise, answer, expected.seed, place)
    return judge(exercise, runs, expected, lambda: code_digest(answer))


def _expected(exercise: Exercise, variant: int) -> Expected:
    from ..reviews.again import expected_of

    return expected_of(exercise, variant)


def exercise_called(name: str) -> Exercise:
    """Return the exercise called `name`. An empty name stands for the exercise that was checked last.

    Raises Unknown if there is no such exercise, or nothing was checked yet.
    """
    return exercises.find(name or next(reversed(SESSION.last), ""), SESSION.lesson)
