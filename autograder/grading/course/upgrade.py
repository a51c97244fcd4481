"""A newer version of a lesson in a course that runs: may its source come in, and which release is old then?"""

from __future__ import annotations

import json
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from ...language import LANGUAGES
from ..submission.sanitize import grade_id_of

_KINDS = ("grade", "solution", "locked", "task")


def list_differences(old: str, new: str) -> list[str]:
    """Return the grade ids of the cells that only one of two source notebooks has, or has as another kind of cell.

    nbgrader refuses to release the one after students have handed in the other.
    """
    try:
        cells = [_cells(text) for text in (old, new)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []  # one of them is no notebook: nothing can be lost with it
    return sorted({name for name, _ in cells[0] ^ cells[1]})


def _cells(text: str) -> set[tuple[str, tuple[bool, ...]]]:
    """Return the grade id of each cell that has one, and what kind of cell it is."""
    cells = [cell for cell in json.loads(text)["cells"] if grade_id_of(cell)]
    return {(grade_id_of(cell), tuple(bool(cell["metadata"]["nbgrader"].get(k)) for k in _KINDS)) for cell in cells}


def is_handed_in(root: Path, assignment: str) -> bool:
    """Return whether anybody has handed in an assignment, as far as submitted/ and the gradebook know."""
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
    """Return the commands that make anew the releases that there are of an assignment."""
    commands = []
    for language in LANGUAGES:
        first = language == LANGUAGES[0]
        if (root / ("release" if first else f"release-{language}") / assignment).is_dir():
            command = f"{nbgrader} generate_assignment {assignment} --force"
            commands.append(command if first else f"AUTOGRADER_LANGUAGE={language} {command} --no-db")
    return commands
