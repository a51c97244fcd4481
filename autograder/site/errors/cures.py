"""Cures of explained errors: programs, as cells of `*/cures/SUBJECT.py`.

    # %% cure="misspelt_flag"
    x = torch.rand(2)
    x.requires_grad = True
    x.sum().backward()

A cell has the name of its entry in the table, and stands below the imports of `PREAMBLE`, as the entry's program does.
It is the smallest change of that program.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import cache
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ... import explained
from ...cells import read_cells
from .imports import with_imports

_FOLDER = Path(explained.__file__).parent


@cache
def cures() -> dict[str, str]:
    """Return a dict from the name of an explanation to the program that cures it.

    Raises BrokenSource if a file is malformed.
    """
    cells = [cell for path in sorted(_FOLDER.glob("*/cures/*.py")) for cell in read_cells(path, {"cure"})]
    return {str(cell.metadata["cure"]): cell.source.strip() for cell in cells}


def difference(program: str, cure: str) -> str:
    """Return the cure as HTML, with the lines of the program that it replaces. Only lines of the cure can be copied."""
    old, new = with_imports(program).splitlines(), with_imports(cure).splitlines()
    shown = _highlighted(new)
    lines: list[str] = []
    for what, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            lines += [f"<span>{line}</span>" for line in shown[first:last]]
        else:
            lines += [_struck(line) for line in old[start:end]]
            lines += [f"<ins>{line}</ins>" for line in shown[first:last]]
    return f'<pre class="highlight diff" tabindex="0">{"".join(lines)}</pre>'


def _struck(line: str) -> str:
    code = line.lstrip()
    return f"<del>{line[: len(line) - len(code)]}<s>{escape(code)}</s></del>"


def _highlighted(lines: list[str]) -> list[str]:
    """Return lines of a program as HTML. No token of theirs spans two lines."""
    html: str = highlight("\n".join(lines), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return [line or "<br>" for line in html.removesuffix("\n").split("\n")]  # a browser copies no empty element
