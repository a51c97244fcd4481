"""Safety checks before `autograder course` replaces a lesson by a newer version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from ...errors import UserError
from ...language import LANGUAGES
from ..course.settings import course_settings
from ..files.submitted_cells import grade_id_of
from ..gradebook.database import default_url
from ..rules.applied_rules import applied_rules
from ..rules.course_file import Rules

_KINDS = ("grade", "solution", "locked", "task")


def list_differences(old: str, new: str) -> list[str]:
    """Return the grade ids of the cells in which two source notebooks differ for nbgrader.

    `old` and `new` are the notebooks' JSON. The result holds cells that exist in only one notebook, and cells with
    another nbgrader type. After students have handed in the old version, nbgrader refuses to release a version with
    differences.
    """
    try:
        cells = [_cells(text) for text in (old, new)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []  # one text is not a notebook, so there is nothing to lose
    return sorted({name for name, _ in cells[0] ^ cells[1]})


def _cells(text: str) -> set[tuple[str, tuple[bool, ...]]]:
    """Return pairs of grade id and nbgrader type, one for each cell that has a grade id.

    `text` is a notebook's JSON. The nbgrader type is a tuple of the values listed in `_KINDS`.
    """
    cells = [cell for cell in json.loads(text)["cells"] if grade_id_of(cell)]
    return {(grade_id_of(cell), tuple(bool(cell["metadata"]["nbgrader"].get(k)) for k in _KINDS)) for cell in cells}


def is_handed_in(root: Path, assignment: str) -> bool:
    """Return whether any student has handed in an assignment. `root` is the course folder.

    The folder submitted/ and the gradebook are searched.
    """
    return any((root / "submitted").glob(f"*/{assignment}")) or _is_graded(root, assignment)


def with_applied_points(root: Path, written: Rules) -> tuple[Rules, list[str]]:
    """Return the rules `written` in course.toml, but with the applied points where students have grades.

    Notebooks are made by the result: nbgrader takes the points of a new release at once, and grades would change. The
    list holds the assignments for which `course.toml` states other points. `root` is the course folder.
    """
    applied = applied_rules(root)
    before = applied.rules if applied else Rules()
    kept = {
        name: replace(one, points=before.of(name).points)
        for name, one in written.assignments.items()
        if one.points != before.of(name).points and _is_graded(root, name)
    }
    return replace(written, assignments={**written.assignments, **kept}), sorted(kept)


def _is_graded(root: Path, assignment: str) -> bool:
    """Return whether the gradebook has a submission of an assignment."""
    try:
        url = course_settings(root).db_url
        if url == default_url(root) and not (root / "gradebook.db").is_file():
            return False
        with Gradebook(url) as gradebook:
            return bool(gradebook.find_assignment(assignment).submissions)
    except (MissingEntry, SQLAlchemyError, UserError):
        return False


def is_released(root: Path, assignment: str) -> bool:
    """Return whether an assignment has a release in some language."""
    return any((root / folder / assignment).is_dir() for folder in ("release", *(f"release-{x}" for x in LANGUAGES)))
