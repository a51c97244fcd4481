"""Messages and tables returned by notebook commands, as text and HTML."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from ..language import LANGUAGES, Text
from ..messages.markup import aside, inline, unfolded, unlinked
from ..session import SESSION

_ONE_LINE = 20  # characters of a cell that is not wrapped
_CALL = re.compile(r'`?\b(hint|solution|why|again)\("(\w+)"(, give_up=True)?\)`?')


def as_commands(text: str) -> str:
    """Return a text for a terminal: calls such as `hint("clip_once")` become `autograder hint clip_once`."""
    return _CALL.sub(lambda call: f"`autograder {call[1]} {call[2]}{' --give-up' if call[3] else ''}`", text)


@dataclass(frozen=True)
class Reply:
    """A message to the learner: sentences (`Text`) and blocks of code (`str`)."""

    parts: tuple[Text | str, ...]
    value: str | None = None  # the value that nbgrader reads if the reply is the output of a graded cell

    def __repr__(self) -> str:
        return str(self) if self.value is None else self.value

    def __str__(self) -> str:
        said = (part if isinstance(part, str) else unlinked(part.read(SESSION.printed)) for part in self.parts)
        return "\n\n".join(said)

    def _repr_html_(self) -> str:
        return aside("".join(self._paragraph(part) for part in self.parts))

    @staticmethod
    def _paragraph(part: Text | str) -> str:
        if isinstance(part, str):
            return f"<pre>{html.escape(part)}</pre>"
        said = inline(part.read(SESSION.language)).replace("\n", "<br>")
        return f"<p>{said}</p>"


@dataclass(frozen=True)
class ProgramList:
    """Python programs under a title, each in a block of its own."""

    title: Text
    programs: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n\n".join([self.title.read(SESSION.language), *self.programs])

    def _repr_markdown_(self) -> str:
        blocks = (f"~~~~python\n{program}\n~~~~" for program in self.programs)
        return "\n\n".join([self.title.read(SESSION.language).replace("\n", "  \n"), *blocks])


@dataclass(frozen=True)
class Prose:
    """A text in Markdown, with formulas."""

    says: Text

    def __repr__(self) -> str:
        return unfolded(unlinked(self.says.read(SESSION.language)))

    def _repr_markdown_(self) -> str:
        said = (self.says.read(each) for each in ([SESSION.language] if SESSION.language else LANGUAGES))
        return "\n\n".join(dict.fromkeys(said))


@dataclass(frozen=True)
class TableReply:
    """A table as text and HTML.

    `head` holds the names of the columns, `below` sentences under the table. `warnings` are sentences above the table,
    in bold.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        widths = [max(len(row[i]) for row in (self.head, *self.rows)) for i in range(len(self.head))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in (self.head, *self.rows)
        )
        return "\n".join([self.title, *self.warnings, *lines, *map(unlinked, self.below)])

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return f"<tr>{''.join(_cell(each, tag) for each in cells)}</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        above = "".join(f"<p><strong>{inline(sentence)}</strong></p>" for sentence in (self.title, *self.warnings))
        below = "".join(f"<p>{inline(sentence)}</p>" for sentence in self.below)
        return f"{above}<table>{row(self.head, 'th')}{body}</table>{below}"


def _cell(text: str, tag: str) -> str:
    """Return a cell of a table. A short text is kept on one line."""
    keep = ";white-space:nowrap" if len(text) <= _ONE_LINE else ""
    return f'<{tag} style="text-align:left{keep}">{inline(text)}</{tag}>'
