"""Conspicuous places that a child has noticed in code, and the cells that ran it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...language import Note
from ...messages.reasons import REASONS, make_reason
from ..files.inert_names import one_line
from .code_reader import Kind

MOST_PLACES = 20  # of one submission
_LONGEST = 80  # characters of a name


@dataclass(frozen=True)
class NoticedPlace:
    """A conspicuous place: the cell that ran it, its kind, and a note for a person.

    The cell is None if the place lies in a file.
    """

    cell: NotebookNode | None
    kind: str
    note: Note


def places_of(told: Any, cell: NotebookNode, number: int) -> list[NoticedPlace]:
    """Return the places in a child's message, which may be forged. `cell` ran the code, as the cell `number`."""
    found = []
    for each in told if isinstance(told, list) else []:
        match each:
            case [str(file), int(line), str(kind), str(what)] if f"look.{kind}" in REASONS:
                where = one_line(file) if file else cell.metadata.get("nbgrader", {}).get("grade_id") or f"[{number}]"
                note = make_reason(f"look.{kind}", where=where[:_LONGEST], line=line, what=one_line(what)[:_LONGEST])
                found.append(NoticedPlace(None if file else cell, kind, note))
    return found


def first_places(places: Sequence[NoticedPlace]) -> list[NoticedPlace]:
    """Return at most `MOST_PLACES` places, those of each kind in turn, and how many more there are."""
    seen = Counter[str]()
    turns = []
    for number, place in enumerate(places):
        turns.append((seen[place.kind], number))
        seen[place.kind] += 1
    listed = [places[number] for number in sorted(number for _, number in sorted(turns)[:MOST_PLACES])]
    if len(listed) == len(places):
        return listed
    last = places[-1]
    more = make_reason("look.more", **{**last.note.parameters, "what": str(len(places) - len(listed))})
    return [*listed, NoticedPlace(last.cell, Kind.MORE, more)]
