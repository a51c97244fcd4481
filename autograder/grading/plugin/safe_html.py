"""HTML pages that show submissions, made safe: feedback pages and formgrader's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from nbconvert.filters import markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode

from ...checking.verdict import MIME, Verdict
from ...language import LANGUAGES
from ..submission.outputs import safe_outputs

_TAGS = "p|h[1-6]|a|img|em|strong|del|code|pre|span|div|br|hr|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|sup|sub"
# HTML rendered from harmless Markdown: known tags, quoted attributes, links to web pages and pictures.
_PLAIN = re.compile(
    rf"""</?(?:{_TAGS})(?:\s+(?:class|id|alt|title|align|start)="[^"<>]*"|\s+style="text-align:\s*\w+;?"
    |\s+(?:href|src)="(?:https?:|mailto:|\#|data:image/(?:png|jpeg);|(?![\w+.-]*:))[^"<>]*")*\s*/?>""",
    re.X,
)
# Rendering time is quadratic in both: the renderer searches the end of each formula in all of the remaining text.
_LONGEST, _MOST_FORMULAS = 20_000, 200  # characters of a cell, starts of formulas in it
_LONGEST_OF_ALL = 200_000  # characters of all cells of a notebook
_FORMULA = re.compile(r"\\\\?[\[(]|\\begin")


class Harmless(Preprocessor):  # type: ignore[misc]
    """A preprocessor that makes a submission's text and outputs harmless in HTML.

    Markdown that could contain scripts is shown as plain text. Outputs lose scripts and other active content.
    """

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        self._left = _LONGEST_OF_ALL
        said = nb.metadata.get("autograder", {})
        self._language = said.get("language") if isinstance(said, dict) else None
        return super().preprocess(nb, resources)  # type: ignore[no-any-return]

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        if cell.cell_type == "markdown":
            self._left -= len(cell.source)
            if self._left < 0 or not is_plain(cell.source):
                cell.source = as_typed(cell.source)
        elif cell.cell_type == "code":
            cell.outputs = [made for output in cell.outputs for made in self._output(output, cell.execution_count)]
        return cell, resources

    def _output(self, output: NotebookNode, number: int | None) -> list[NotebookNode]:
        """Return a list with the harmless form of one output. An output in no valid form gives an empty list.

        If the output holds the record of a verdict, the card is made again from the record. The HTML that was stored
        with the record is dropped. `number` is the cell's execution count.
        """
        safe = safe_outputs([output], number or 0)
        record = output.get("data", {}).get(MIME) if output.output_type == "execute_result" else None
        if isinstance(record, dict) and safe:
            try:
                card = Verdict.from_json(record).html(self._language if self._language in LANGUAGES else None)
                safe[0].data["text/html"] = card
            except (LookupError, TypeError, ValueError, AttributeError):
                pass  # a forged record: its plain text is kept
        return safe


@lru_cache(maxsize=1024)  # the submissions of a class have most cells in common
def is_plain(text: str) -> bool:
    """Return whether Markdown text renders to harmless HTML tags only.

    The rendered HTML is inspected, not the text. If rendering would take long, returns False.
    """
    if len(text) > _LONGEST or len(_FORMULA.findall(text)) > _MOST_FORMULAS:
        return False
    return "<" not in _PLAIN.sub("", markdown2html(text))


def as_typed(text: str) -> str:
    """Return Markdown with a code block that shows `text` exactly as it was typed."""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 3)
    return f"{fence}text\n{text}\n{fence}"
