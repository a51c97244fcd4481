"""Headings of exercises in a notebook, and links to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from .notebook_file import source_of

_HEADING = r"^#+ +(?P<title>[^\n]*`{name}`[^\n]*)$"
_FILE = re.compile(r"\w+\.ipynb")  # the file names that links in replies can hold


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
    # JupyterLab's own name of a heading: `createHeaderId` in its rendermime/src/renderers.ts.
    name = found[1]["title"].replace("`", "").replace(" ", "-")
    return f"[{title}]({file}#{quote(name)})"
