"""Cells of released notebooks, by which submitted notebooks are recognised."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError
from ..course.course import Course
from ..course.registration import is_registered
from ..files.notebook_file import load_file, parse_notebook
from ..files.submitted_cells import grade_id_of, source_of
from ..gradebook.book import Book
from ..gradebook.released_notebooks import Released, ReleasedNotebook, ReleasedNotebooks


def released_notebooks(course: Course, book: Book) -> dict[str, ReleasedNotebooks]:
    """Return a dict from assignment to its released notebooks.

    If the gradebook lacks an assignment, its source notebooks are returned instead. The folder of a lesson that has
    become a part of another assignment is left out.
    Raises UserError if the course has no assignment.
    """
    sources = course.source("x").parent
    names = (
        [folder.name for folder in sorted(sources.iterdir()) if any(folder.glob("*.ipynb"))] if sources.is_dir() else []
    )
    if not names:
        raise UserError(f"{course.root} has no assignment: `autograder course` puts the lessons there")
    parts = {lesson for name in names for lesson in course.stated.of(name).lessons if lesson != name}
    names = [name for name in names if name not in parts or name in course.stated.assignments]
    return {
        name: book.released(name) if is_registered(course, book, name) else _from_source(sources / name)
        for name in names
    }


def _from_source(folder: Path) -> ReleasedNotebooks:
    """Return the notebooks of an assignment's source, to recognise submissions by their cells."""
    found = {}
    for path in sorted(folder.glob("*.ipynb")):
        cells = {}
        for cell in parse_notebook(load_file(path), path.name)["cells"]:
            if name := grade_id_of(cell):
                ours = cell["metadata"]["nbgrader"]
                solution, task = bool(ours.get("solution")), bool(ours.get("task"))
                locked = bool(ours.get("locked"))
                cells[name] = Released(
                    cell["cell_type"], source_of(cell), None, locked, ours.get("points"), solution, task
                )
        found[path.stem] = ReleasedNotebook(cells, None)
    return found
