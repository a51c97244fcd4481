"""Notes that a learner's notebook adds to verdicts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...checking.exercise import Exercise
from ...checking.verdict import Verdict, VerdictState
from ...history import standings, verdicts
from ...language import Note
from ...session import SESSION, being_graded
from ..cells_run import is_bound_in
from ..points import saved_notebook


def with_first_table(exercise: Exercise, verdict: Verdict) -> Verdict:
    """Add a note to a verdict on a table of predictions: how many entries were right at first.

    The learner's first complete table shows what the learner knew before any check.
    """
    known = standings(verdicts(exercise.name)) if exercise.kind == "predict" else {}
    standing = known.get(exercise.name)
    if standing is None or standing.first.finding is None:
        return verdict
    table = next((n.parameters for n in standing.first.finding.got if n.id == "differs.table"), None)
    if table is None:
        return verdict
    total = int(str(table["total"]))
    first = Note("card.first_table", {"right": total - int(str(table["wrong"])), "total": total})
    return replace(verdict, notes=(*verdict.notes, first))


def with_cell_above(verdict: Verdict, namespace: Mapping[str, Any]) -> Verdict:
    """Add a note to a verdict on an answer that lacks a name which a cell of the notebook defines."""
    got = verdict.finding.got if verdict.finding else ()
    said = next((str(note.parameters.get("message", "")) for note in got if note.id == "raised.answer"), "")
    missing = re.fullmatch(r"name '(\w+)' is not defined.*", said)
    if missing is None or missing[1] in namespace:
        return verdict
    sources = ["".join(cell["source"]) for cell in saved_notebook({}).cells if cell["cell_type"] == "code"]
    if not is_bound_in(sources, missing[1]):
        return verdict
    return replace(verdict, notes=(*verdict.notes, Note("note.cell_above", {"name": missing[1]})))


def with_worth(exercise: Exercise, verdict: Verdict) -> Verdict:
    """Add a note with rescaled points to a verdict, if this notebook gives other points than the exercise's module."""
    worth = saved_notebook({exercise.name: exercise}).worth(exercise.name)
    if worth == exercise.points:
        return verdict
    note = Note("note.worth", {"earned": f"{verdict.points_out_of(worth):g}", "maximum": f"{worth:g}"})
    return replace(verdict, notes=(*verdict.notes, note))


def with_why(exercise: Exercise, verdict: Verdict) -> Verdict:
    """Put a note first that asks why the answer is right, if it has passed. A notebook that is graded has none."""
    if exercise.why is None or exercise.withdrawn or verdict.state != VerdictState.PASSED or being_graded():
        return verdict
    return replace(verdict, notes=(Note("note.why", {"name": exercise.name}), *verdict.notes))


def with_note_once(verdict: Verdict, note: Note) -> Verdict:
    """Add a note about this machine to a verdict, unless an earlier verdict of this session has the note."""
    if note.id in SESSION.told:
        return verdict
    SESSION.told.add(note.id)
    return replace(verdict, notes=(*verdict.notes, note))
