"""Comparison of a graded notebook's answers with an earlier version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..files.submitted_cells import grade_id_of, source_of


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
