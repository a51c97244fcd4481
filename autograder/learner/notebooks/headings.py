"""Headings of lessons and exercises in notebooks, and links to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...lessons.source import NOTEBOOKS
from .notebook_file import read_notebook, source_of

_HEADING = r"^#+ +[^\n]*`{name}`[^\n]*$"
_FILE, _ID = re.compile(r"\w+\.ipynb"), re.compile(r"[\w-]+")  # the names and ids that links in replies can hold


def find_heading(cells: Sequence[dict[str, Any]], exercise: str) -> tuple[int, re.Match[str]] | None:
    """Return the number of the cell with the heading of an exercise, and the heading in its source.

    Returns None if there is no such heading.
    """
    pattern = re.compile(_HEADING.format(name=re.escape(exercise)), re.M)
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "markdown" and (found := pattern.search(source_of(cell))):
            return number, found
    return None


def link_to(cells: Sequence[dict[str, Any]], file: str, exercise: str, title: str) -> str:
    """Return a Markdown link to an exercise in the notebook `file`, or only `title` if it cannot be linked."""
    found = find_heading(cells, exercise)
    if found is None or not _FILE.fullmatch(file):
        return title
    # JupyterLab finds a cell by its id. It compares the name of a heading with the percent-encoded one of the link: a
    # heading in Russian is never found (`setFragment` in its notebook/src/widget.ts).
    cell = cells[found[0]].get("id")
    return f"[{title}]({file}#cell-id={cell})" if _ID.fullmatch(str(cell)) else f"[{title}]({file})"


def title_of_lesson(lesson: str, language: str) -> str:
    """Return number and title of a lesson, such as "03 Gradient accumulation".

    If the lesson is not one of the course's, return its name.
    """
    for path in (NOTEBOOKS / language).glob(f"[0-9][0-9]_{lesson}.ipynb"):
        return title_of(path, read_notebook(path))
    return lesson


def title_of(path: Path, notebook: dict[str, Any]) -> str:
    """Return number and heading of the notebook at `path`, such as "03 Gradient accumulation"."""
    heading = "".join(notebook["cells"][0]["source"]).partition("\n")[0].removeprefix("# ")
    return f"{path.stem[:2]} {heading}"
