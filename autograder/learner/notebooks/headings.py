"""Headings of exercises in a notebook, and links to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .notebook_file import source_of

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
