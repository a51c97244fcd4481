"""Safety checks before a lesson of a running course is upgraded."""

from __future__ import annotations

import json
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from ...language import LANGUAGES
from ..submission.sanitize import grade_id_of

_KINDS = ("grade", "solution", "locked", "task")


def list_differences(old: str, new: str) -> list[str]:
    """Return the grade ids of the cells in which two source notebooks differ for nbgrader.

    `old` and `new` are the notebooks' JSON. Such a cell exists in only one of them, or its nbgrader type differs.
    nbgrader refuses to release the new version after students have handed in the old one.
    """
    try:
        cells = [_cells(text) for text in (old, new)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []  # one text is not a notebook, so there is nothing to lose
    return sorted({name for name, _ in cells[0] ^ cells[1]})


def _cells(text: str) -> set[tuple[str, tuple[bool, ...]]]:
    """Return the grade id and the nbgrader type (see `_KINDS`) of each cell that has a grade id."""
    cells = [cell for cell in json.loads(text)["cells"] if grade_id_of(cell)]
    return {(grade_id_of(cell), tuple(bool(cell["metadata"]["nbgrader"].get(k)) for k in _KINDS)) for cell in cells}


def is_handed_in(root: Path, assignment: str) -> bool:
    """Return whether anybody has handed in an assignment of the course in the folder `root`.

    Looks into submitted/ and into the gradebook.
    """
    if any((root / "submitted").glob(f"*/{assignment}")):
        return True
    if not (root / "gradebook.db").is_file():
        return False
    try:
        with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
            return bool(gradebook.find_assignment(assignment).submissions)
    except (MissingEntry, SQLAlchemyError):
        return False


def release_commands(root: Path, assignment: str, nbgrader: str) -> list[str]:
    """Return the shell commands that make the existing releases of an assignment anew.

    `root` is the course folder, `nbgrader` the path of that command.
    """
    commands = []
    for language in LANGUAGES:
        first = language == LANGUAGES[0]
        if (root / ("release" if first else f"release-{language}") / assignment).is_dir():
            command = f"{nbgrader} generate_assignment {assignment} --force"
            commands.append(command if first else f"AUTOGRADER_LANGUAGE={language} {command} --no-db")
    return commands
