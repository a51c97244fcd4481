"""Comparison of a notebook's answers with another version or with the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..files.inert_names import one_line
from ..files.submitted_cells import grade_id_of, source_of
from ..gradebook.release import ReleasedCells
from .sanitize import grade_ids_of


def unchanged_cells(old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[str]:
    """Return the grade ids of graded cells in `new` whose answers are the same in `old`.

    `old` and `new` are notebooks. A cell that a student fills in is compared on its own. A check may depend on any code
    above it. A check is therefore in the result only if all code is equal.
    """
    before, after = _sources(old), _sources(new)
    code_is_same = _code(old) == _code(new)
    same = set()
    for name, cell in _named(new):
        ours = cell["metadata"]["nbgrader"]
        if ours.get("grade") or ours.get("task"):
            itself = ours.get("solution") or ours.get("task")
            if before.get(name) == after[name] if itself else code_is_same:
                same.add(name)
    return frozenset(same)


def _named(notebook: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield pairs of grade id and cell, for each cell with a grade id."""
    for cell in notebook["cells"]:
        if isinstance(cell, Mapping) and (name := grade_id_of(cell)):
            yield name, cell


def _sources(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Return a dict from grade id to source, for the cells with a grade id."""
    return {name: source_of(cell) for name, cell in _named(notebook)}


def _code(notebook: Mapping[str, Any]) -> list[str]:
    cells = [cell for cell in notebook["cells"] if isinstance(cell, Mapping) and cell.get("cell_type") == "code"]
    return [source_of(cell) for cell in cells]


def answers_of(notebook: Mapping[str, Any], released: ReleasedCells) -> dict[str, str]:
    """Return a dict from grade id to source, for the answer cells that differ from the release."""
    sources = _recognised(notebook, released)
    to_fill_in = {name: cell for name, cell in released.items() if (cell.solution or cell.task) and not cell.locked}
    return {
        name: sources[name]
        for name, cell in to_fill_in.items()
        if name in sources and sources[name].strip() != cell.source.strip()
    }


def has_cells_of(notebook: Mapping[str, Any], released: ReleasedCells) -> bool:
    """Return whether a notebook has at least half of the cells in `released`.

    It was then made from the release.
    """
    return 2 * len(_recognised(notebook, released).keys() & released.keys()) >= max(len(released), 1)


def other_assignment(notebook: Mapping[str, Any], assignment: str, released: ReleasedCells) -> str | None:
    """Return the name of another assignment from whose release a notebook was made, as the notebook states it.

    Returns None if the notebook has a cell of this `assignment`, or states nothing.
    """
    told = notebook.get("metadata")
    told = told.get("autograder") if isinstance(told, dict) else None
    named = told.get("assignment") or told.get("lesson") if isinstance(told, dict) else None
    if not isinstance(named, str) or named in ("", assignment) or _recognised(notebook, released).keys() & released:
        return None
    return one_line(named)


def _recognised(notebook: Mapping[str, Any], released: ReleasedCells) -> dict[str, str]:
    """Return a dict from grade id to source, also for cells that have lost their metadata."""
    cells = [cell for cell in notebook["cells"] if isinstance(cell, Mapping)]
    return {name: source_of(cell) for name, cell in zip(grade_ids_of(cells, released), cells) if name}
