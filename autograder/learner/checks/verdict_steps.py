"""Steps after a verdict: notes, the history, a run on another device.

Each takes the check that was asked for and the verdict so far, and returns the verdict with what it adds.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace

from ...cards.shown_verdict import ShownVerdict
from ...checking.containment.time_limit import has_timer
from ...checking.devices.device_run import DEVICE, is_about_devices
from ...checking.entry_types import is_slip
from ...checking.judge import unobserved
from ...checking.verdict import AspectState, Verdict, VerdictState
from ...explained.silent_mistakes import cell_of, silent_mistakes
from ...history import folder, record, standings, verdicts
from ...language import Note
from ...session import SESSION, being_graded, in_ipython
from .. import own_engine
from ..cells_run import is_bound_in
from ..points import saved_notebook
from ..reviews.counting import is_review, next_step
from .asked import Asked
from .judged_answer import judge_answer

Step = Callable[[Asked, Verdict], Verdict]


def note_cell_above(asked: Asked, verdict: Verdict) -> Verdict:
    """Add a note to a verdict on an answer that lacks a name which a cell of the notebook defines."""
    got = verdict.finding.got if verdict.finding else ()
    said = next((str(note.parameters.get("message", "")) for note in got if note.id == "raised.answer"), "")
    missing = re.fullmatch(r"name '(\w+)' is not defined.*", said)
    if missing is None or missing[1] in asked.namespace:
        return verdict
    sources = ["".join(cell["source"]) for cell in saved_notebook({}).cells if cell["cell_type"] == "code"]
    if not is_bound_in(sources, missing[1]):
        return verdict
    return _with(verdict, Note("note.cell_above", {"name": missing[1]}))


def set_slips_aside(asked: Asked, verdict: Verdict) -> Verdict:
    """Return a verdict that does not count on a wrong table of predictions with slips of writing.

    Grading counts it.
    """
    slips = tuple(note for note in verdict.notes if is_slip(note))
    if not slips or being_graded():
        return verdict
    entries = ", ".join(dict.fromkeys(f"`{note.parameters['entry']}`" for note in slips))
    return unobserved(asked.exercise, VerdictState.NOT_ATTEMPTED, Note("absent.slips", {"entries": entries}), slips)


def note_first_table(asked: Asked, verdict: Verdict) -> Verdict:
    """Add a note to a verdict on a table of predictions: how many entries were right at first.

    The learner's first complete table shows what the learner knew before any check.
    """
    if asked.exercise.kind != "predict" or asked.variant is not None:
        return verdict
    standing = standings(verdicts(asked.exercise.name)).get(asked.exercise.name)
    got = standing.first.finding.got if standing and standing.first.finding else ()
    table = next((note.parameters for note in got if note.id == "differs.table"), None)
    if table is None:
        return verdict
    total = int(str(table["total"]))
    return _with(verdict, Note("card.first_table", {"right": total - int(str(table["wrong"])), "total": total}))


def note_variant(asked: Asked, verdict: Verdict) -> Verdict:
    """Add a note to a verdict on a variant, which earns no points."""
    return verdict if asked.variant is None else _with(verdict, Note("note.variant", {"name": asked.exercise.name}))


def note_worth(asked: Asked, verdict: Verdict) -> Verdict:
    """Add a note with rescaled points, if this notebook gives other points than the exercise."""
    exercise = asked.exercise
    if asked.variant is not None:
        return verdict
    worth = saved_notebook({exercise.name: exercise}).worth(exercise.name)
    if worth == exercise.points:
        return verdict
    return _with(verdict, Note("note.worth", {"earned": f"{verdict.points_out_of(worth):g}", "maximum": f"{worth:g}"}))


def keep_in_session(asked: Asked, verdict: Verdict) -> Verdict:
    """Keep the verdict as the latest of this kernel."""
    name = asked.exercise.name
    SESSION.varied.discard(name) if asked.number is None else SESSION.varied.add(name)
    SESSION.last.pop(name, None)
    SESSION.last[name] = verdict
    return verdict


def record_in_history(asked: Asked, verdict: Verdict) -> Verdict:
    """Append the verdict to the history.

    Notes say what a review has changed, and that the history cannot be written.
    """
    reviewed = is_review(asked.exercise, verdict, asked.variant)
    recorded = record(verdict, is_review=reviewed, variant=asked.variant)
    verdict = _with(verdict, next_step(asked.exercise)) if reviewed else verdict
    return verdict if recorded else _with_once(verdict, Note("note.unrecorded", {"folder": str(folder())}))


def keep_engine_step(asked: Asked, verdict: Verdict) -> Verdict:
    """Put a passed step into the learner's own engine, and add a note that says so."""
    name = asked.exercise.name
    new = verdict.state == VerdictState.PASSED and name in own_engine.STEPS and in_ipython() and not being_graded()
    source = cell_of(asked.answer) if new and asked.variant is None else ""
    if not source:
        return verdict
    try:
        kept = own_engine.keep_step(name, source)
    except OSError:
        return verdict  # `record_in_history` has said that the folder is not writable
    return _with(
        verdict,
        Note(
            "note.engine.kept" if kept else "note.engine.edited",
            {"name": name, "path": str(folder() / own_engine.FILE)},
        ),
    )


def note_no_timer(asked: Asked, verdict: Verdict) -> Verdict:
    """Add a note if this system cannot end an answer that runs for too long."""
    return verdict if has_timer() else _with_once(verdict, Note("note.no_time_limit", {}))


def note_silent_mistakes(asked: Asked, verdict: Verdict) -> Verdict:
    """Put notes first on mistakes in a wrong answer's cell that neither raise nor warn."""
    if verdict.state != VerdictState.NOT_YET or being_graded():
        return verdict
    return _with_first(verdict, *silent_mistakes(asked.answer))


def print_for_validation(asked: Asked, verdict: Verdict) -> Verdict:
    """Print the card to stderr for nbgrader's button Validate. It shows only stderr, cut at 90 columns."""
    if being_graded() == "validate" and verdict.state != VerdictState.PASSED:
        said = str(ShownVerdict.of(verdict)).splitlines()
        print(*(textwrap.fill(line, 78, subsequent_indent="    ") for line in said), sep="\n", file=sys.stderr)
    return verdict


def run_elsewhere(asked: Asked, verdict: Verdict) -> Verdict:
    """Return the verdict on a right answer at the device that was asked for, with a note on the device.

    It is `verdict`, that of the CPU, if the answer must be right there first or the exercise is about no device.
    """
    fails_elsewhere = {each.name for each in verdict.aspects if each.state != AspectState.RIGHT} == {DEVICE}
    place, exercise = asked.place, asked.exercise
    if place is None or asked.variant is not None:
        return _with(verdict, Note("note.device.try", {"name": exercise.name})) if fails_elsewhere else verdict
    if not is_about_devices(exercise) or exercise.withdrawn:
        return _with_first(verdict, Note("note.device.none", {}))
    if verdict.state != VerdictState.PASSED and not fails_elsewhere:
        return _with_first(verdict, Note("note.device.later", {"device": place.name}))
    there = replace(judge_answer(asked, place), language=verdict.language)
    return _with_first(there, Note(f"note.device.{place.kind}", {"device": place.name}))


def ask_why(asked: Asked, verdict: Verdict) -> Verdict:
    """Put a note first that asks why a right answer is right.

    A variant has none, because it may be about another program, and neither has a notebook that is graded.
    """
    exercise = asked.exercise
    is_asked = exercise.why is not None and not exercise.withdrawn and asked.number is None and not being_graded()
    if verdict.state != VerdictState.PASSED or not is_asked:
        return verdict
    return _with_first(verdict, Note("note.why", {"name": exercise.name}))


# What is recorded has the notes on the answer. Those on this machine, and another device's verdict, come later.
STEPS: tuple[Step, ...] = (
    note_cell_above,
    set_slips_aside,
    note_first_table,
    note_worth,
    note_variant,
    keep_in_session,
    record_in_history,
    keep_engine_step,
    note_no_timer,
    note_silent_mistakes,
    print_for_validation,
    run_elsewhere,
    ask_why,
)


def _with(verdict: Verdict, *notes: Note) -> Verdict:
    return replace(verdict, notes=(*verdict.notes, *notes))


def _with_first(verdict: Verdict, *notes: Note) -> Verdict:
    return replace(verdict, notes=(*notes, *verdict.notes))


def _with_once(verdict: Verdict, note: Note) -> Verdict:
    """Add a note about this machine to a verdict, unless an earlier verdict of this session has the note."""
    if note.id in SESSION.told:
        return verdict
    SESSION.told.add(note.id)
    return _with(verdict, note)
