"""Text in boxes: the HTML-like tables of Graphviz."""

from __future__ import annotations

import html
import textwrap

from .style import FAINT, GREEN, INK

_COLUMNS = 4  # of a step: what it saved, shape, bytes, state


def table(rows: list[str]) -> str:
    """A label of rows, one under the other."""
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{"".join(rows)}</table>>'


def row(
    says: str, colour: str = INK, size: int = 10, *, bold: bool = False, wide: bool = False, aside: str = ""
) -> str:
    """One row of a table. `wide`: over all columns of a step. `aside` stands beside it, small and faint."""
    inside = f"<b>{escaped(says)}</b>" if bold else escaped(says)
    inside += f'  <font point-size="9" color="{FAINT}">{escaped(aside)}</font>' if aside else "&#160;" if bold else ""
    return f"<tr>{_cell(inside, colour, size, span=_COLUMNS if wide else 1)}</tr>"


def columns(cells: tuple[str, ...], colour: str) -> str:
    """One row of a step, a cell in each column."""
    return "<tr>" + "".join(_cell(escaped(cell), colour, 9, left=True) for cell in cells) + "</tr>"


def landing(says: str, landed: bool) -> str:
    """The row where a gradient lands: filled once it has."""
    ink, paper = ("#ffffff", GREEN) if landed else (GREEN, "#ffffff")
    chip = f'<font color="{ink}" point-size="10"><b>&#160;{escaped(says)}&#160;&#160;</b></font>'
    return f'<tr><td border="1" color="{GREEN}" bgcolor="{paper}" style="rounded">{chip}</td></tr>'


def caption(says: list[str]) -> str:
    """The label of the whole picture, a title and sentences, on paper of its own."""
    title, *sentences = says
    cells = [_cell(f"&#160;<b>{escaped(line)}</b>", INK, 12, left=True) for line in _wrapped(title, 70)]
    lines = [line for sentence in sentences for line in _wrapped(sentence, 88)]
    # Room that grows with the line: so does the difference between the fonts.
    cells += [_cell(f"&#160;{escaped(line)}{'&#160;' * (len(line) // 16)}", INK, 10, left=True) for line in lines]
    rows = "".join(f"<tr>{cell}</tr>" for cell in cells)
    frame = 'border="0" cellborder="0" cellspacing="1" cellpadding="2" bgcolor="#f1f3f6" style="rounded"'
    return f"<<table {frame}>{rows}</table>>"


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of `text`, as few as there must be and as even as they can be."""
    fewest = len(textwrap.wrap(text, width))
    evenly = len(text) // max(fewest, 1)
    tried = (textwrap.wrap(text, each) for each in range(max(evenly, 1), width + 1))
    return next((lines for lines in tried if len(lines) <= fewest), [])


def _cell(inside: str, colour: str, size: int, *, span: int = 1, left: bool = False) -> str:
    align = ' align="left"' if left else ""
    columns = f' colspan="{span}"' if span > 1 else ""
    # Spaces are room for a browser's font that is wider than the one of the layout, and keep the cell from being
    # empty: Graphviz crashes, now and then, on a line of text without a character.
    before = "" if left else "&#160;"
    return f'<td{align}{columns}><font color="{colour}" point-size="{size}">{before}{inside}&#160;</font></td>'


def escaped(text: str) -> str:
    """Text that Graphviz takes for text, in a table and in a plain label."""
    return html.escape(text, quote=False).replace("\\", "\\\\")  # it reads a backslash even in HTML
