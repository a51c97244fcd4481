"""A learner's notebook file: cells, sources, grade ids, checksums."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ...grade_ids import CellKind, GradeId, find_lost

ANSWERS = (CellKind.ANSWER, CellKind.WRITTEN)


class Unreadable(Exception):
    """An error: a file cannot be read, or is not a notebook."""


def read_notebook(path: Path) -> dict[str, Any]:
    """Return a notebook file as JSON data.

    Raises Unreadable if the file is no notebook.
    """
    try:
        notebook = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    if not is_notebook(notebook):
        raise Unreadable("no list of cells")
    return dict(notebook)


def is_notebook(notebook: object) -> bool:
    """Return whether JSON data is a notebook, with a list of cells that have source and metadata."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return isinstance(cells, list) and all(_is_cell(cell) for cell in cells)


def _is_cell(cell: object) -> bool:
    if not isinstance(cell, dict) or not isinstance(cell.get("metadata"), dict):
        return False
    source = cell.get("source")
    return isinstance(source, str) or (isinstance(source, list) and all(isinstance(line, str) for line in source))


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def answer_cells(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a dict from grade id to answer cell.

    Of two cells with the same grade id the last is taken, as nbgrader does.
    """
    return {name: cell for cell in notebook["cells"] if (name := grade_id_of(cell)).kind in ANSWERS}


def grade_id_of(cell: dict[str, Any]) -> GradeId:
    """Return the grade id of a cell, or an empty text if there is none."""
    ours = cell["metadata"].get("nbgrader")
    grade_id = ours.get("grade_id") if isinstance(ours, dict) else None
    return GradeId(grade_id if isinstance(grade_id, str) else "")


def restore_metadata(notebook: dict[str, Any], fresh: dict[str, Any]) -> None:
    """Give back nbgrader's metadata to cells of `notebook` that have lost it.

    `fresh` is the notebook as built from the lesson source.
    """
    released = {name: cell for cell in fresh["cells"] if (name := grade_id_of(cell))}
    cells = [(grade_id_of(cell), source_of(cell)) for cell in notebook["cells"]]
    sources: dict[str, str] = {name: source_of(cell) for name, cell in released.items()}
    for position, lost in find_lost(cells, sources).items():
        notebook["cells"][position]["metadata"]["nbgrader"] = dict(released[GradeId(lost)]["metadata"]["nbgrader"])


def untouched(cell: dict[str, Any]) -> bool:
    """Return whether nbgrader's checksum shows that a cell is unchanged since its release.

    A comparison with the lesson's present stub would not suffice, because the stub may have changed since the release.
    """
    try:
        return bool(checksum(cell) == cell["metadata"]["nbgrader"].get("checksum"))
    except (KeyError, AttributeError, TypeError, ValueError):
        return False  # its metadata was edited by hand


def checksum(cell: dict[str, Any]) -> str:
    """Return the checksum that nbgrader writes into a cell when it releases a notebook.

    Computed as in `nbgrader.utils.compute_checksum`, because learners need not have nbgrader.
    Raises KeyError, AttributeError, TypeError or ValueError if the cell's metadata was edited by hand.
    """
    about = cell["metadata"]["nbgrader"]
    grade, solution = about.get("grade", False), about.get("solution", False)
    locked = not solution and (bool(grade) or about.get("locked", False))
    parts = [source_of(cell), cell["cell_type"], str(grade), str(solution), str(locked), about["grade_id"]]
    if grade:
        parts.append(str(float(about["points"])))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()
