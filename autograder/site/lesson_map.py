"""The way through the course: a picture of which lesson needs which."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ..pictures.render.graphviz_process import CannotLayOut, svg
from ..pictures.render.style import FONT
from .pages import Page, plain_text

_LETTERS = 17  # in a line of a box: three boxes side by side fit a phone


def lesson_map(pages: Sequence[Page]) -> str:
    """Return the lessons as an SVG with links, each below those that it needs.

    It is "" if Graphviz cannot draw: the list of lessons says the same.
    """
    needs = {page.name[:2]: {each for each in page.needs.split(", ") if each} for page in pages}
    lines = [
        "digraph {",
        'graph [bgcolor="transparent", nodesep=0.12, ranksep=0.26, margin=0]',
        f'node [shape=box, style=rounded, fontname="{FONT}", fontsize=10, margin="0.07,0.05", width=0.5, height=0.3]',
        "edge [arrowsize=0.6]",
    ]
    for page in pages:
        said = "\n".join(textwrap.wrap(f"{page.name[:2]} {plain_text(page.title).replace('`', '')}", _LETTERS))
        lines.append(f'"{page.name[:2]}" [label="{_quoted(said)}", URL="{page.name}.html", tooltip=" "]')
    for number, needed in needs.items():
        lines += [f'"{each}" -> "{number}"' for each in sorted(needed - _behind(needed, needs)) if each in needs]
    try:
        return svg("\n".join([*lines, "}"]))
    except CannotLayOut:
        return ""


def _behind(numbers: Iterable[str], needs: dict[str, set[str]]) -> set[str]:
    """Return all lessons that some lessons need, directly or not."""
    found: set[str] = set()
    waiting = [each for number in numbers for each in needs.get(number, ())]
    while waiting:
        if (number := waiting.pop()) not in found:
            found.add(number)
            waiting += needs.get(number, ())
    return found


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
