"""HTML pages that show submissions, made safe: feedback pages and formgrader's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from nbconvert.filters import markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode
from pygments.token import STANDARD_TYPES

from ...checking.verdict import MIME, Verdict
from ...language import LANGUAGES
from ...messages.feedback import GONE
from ..files.pictures import kept_attachments
from ..submission.limited_outputs import safe_outputs

_TAGS = (
    "p|h[1-6]|a|img|em|strong|del|code|pre|span|div|details|summary|br|hr|ul|ol|li|blockquote"
    "|table|thead|tbody|tr|th|td|sup|sub"
)
_CLASSES = "|".join(["highlight", "anchor-link", *map(re.escape, filter(None, STANDARD_TYPES.values()))])
# HTML rendered from harmless Markdown: known tags; quoted attributes, classes only those of highlighted code; links to
# web pages, places on the page and notebooks; pictures that the page itself holds.
_PLAIN = re.compile(
    rf"""</?(?:{_TAGS})(?:\s+(?:alt|title|start)="[^"<>]*"|\s+class="(?:{_CLASSES})"|\s+align="\w+"
    |\s+id="[^"<>]*"|\s+style="text-align:\s*\w+;?"|\s+src="data:image/(?:png|jpeg);[^"<>]*"
    |\s+href="(?:(?:https?:|mailto:|\#)[^"<>]*|(?![/\\])[^"<>?\#:]*\.ipynb(?:\#[^"<>]*)?)")*\s*/?>""",
    re.X,
)
_IDS = re.compile(r"<(?!h[1-6]\b)[^<>]*\sid=")  # a heading has one, and nothing else
_LONGEST_CODE = 50_000  # characters of a code cell: a page has ten times as many
# Rendering time is quadratic in both: the renderer searches the end of each formula in all of the remaining text.
_LONGEST, _MOST_FORMULAS = 20_000, 200  # characters of a cell, starts of formulas in it
_LONGEST_OF_ALL = 200_000  # characters of all cells of a notebook
# Pictures as JupyterLab, VS Code and Colab paste them; no other link leads to an attachment.
_PASTED = re.compile(r"!\[(?P<says>[^\[\]\n]*)\]\(\s*<?attachment:(?P<name>[^)>\n]{0,1000})>?\)")
_LEFT = re.compile(r"attachment:(?!picture-\d+\))", re.IGNORECASE)
# A drawing inside the text, such as a lesson's first picture. It is not part of what somebody handed in.
_DRAWN = re.compile(r"""<img alt="([^"<>]*)" style="[^"<>]*" src="data:image/svg\+xml;base64,[\w+/=]*">""")
_FORMULA = re.compile(r"\\\\?[\[(]|\\begin")


class Harmless(Preprocessor):  # type: ignore[misc]
    """A preprocessor that makes a submission's text and outputs harmless in HTML.

    Markdown that could contain scripts is shown as plain text. Outputs lose scripts and other active content.
    """

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        self._left = _LONGEST_OF_ALL
        said = nb.metadata.get("autograder", {})
        language = said.get("language") if isinstance(said, dict) else None
        self._language = language if language in LANGUAGES else None  # None: in both languages
        return super().preprocess(nb, resources)  # type: ignore[no-any-return]

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        if cell.cell_type == "markdown":
            cell.source = without_drawings(cell.source)
            self._show_pictures(cell)
            self._left -= len(cell.source)
            if self._left < 0 or not is_plain(cell.source):
                cell.source = as_typed(cell.source)
        elif cell.cell_type == "code":
            if len(cell.source) > _LONGEST_CODE:
                half = _LONGEST_CODE // 2
                cell.source = f"{cell.source[:half]}\n... Code truncated ...\n{cell.source[-half:]}"
            cell.outputs = [made for output in cell.outputs for made in self._output(output, cell.execution_count)]
        return cell, resources

    def _show_pictures(self, cell: NotebookNode) -> None:
        """Keep the pictures that a student pasted into a cell, and name those that are gone.

        nbconvert refuses a whole page for one picture that is not there.
        """
        (kept,) = kept_attachments(iter([cell]))
        names = {name: f"picture-{number}" for number, name in enumerate(kept, 1)}
        cell.attachments = {names[name]: bundle for name, bundle in kept.items()}

        def link(found: re.Match[str]) -> str:
            name = unquote(found["name"])
            if name in names:
                return f"![{found['says']}](attachment:{names[name]})"
            return GONE.format(name=f"`{name}`" if name.strip() else "").read(self._language).replace("\n", " ")

        cell.source = _PASTED.sub(link, cell.source)
        if _LEFT.search(cell.source):
            cell.source = _LEFT.sub("attachment-", cell.source)

    def _output(self, output: NotebookNode, number: int | None) -> list[NotebookNode]:
        """Return a list with the harmless form of one output. An output in no valid form gives an empty list.

        If the output holds the record of a verdict, the card is made again from the record. The HTML that was stored
        with the record is dropped. `number` is the cell's execution count.
        """
        safe = safe_outputs([output], number or 0)
        record = output.get("data", {}).get(MIME) if output.output_type == "execute_result" else None
        if isinstance(record, dict) and safe:
            from ...cards.shown_verdict import ShownVerdict  # needs torch, which nbgrader's config does not load

            try:
                card = ShownVerdict.of(Verdict.from_json(record)).html(self._language)
                safe[0].data["text/html"] = card
            except (LookupError, TypeError, ValueError, AttributeError):
                pass  # a forged record: its plain text is kept
        return safe


def without_drawings(text: str) -> str:
    """Return Markdown text with the description of each drawing in place of the drawing."""
    return _DRAWN.sub(r"\1", text)


@lru_cache(maxsize=1024)  # the submissions of a class have most cells in common
def is_plain(text: str) -> bool:
    """Return whether Markdown text renders to harmless HTML tags only.

    The rendered HTML is inspected, not the text. If rendering would take long, returns False.
    """
    if len(text) > _LONGEST or len(_FORMULA.findall(text)) > _MOST_FORMULAS:
        return False
    shown = markdown2html(text.replace("attachment:picture-", "data:image/png;picture-"))
    return "<" not in _PLAIN.sub("", shown) and not _IDS.search(shown)


def as_typed(text: str) -> str:
    """Return Markdown with a code block that shows `text` exactly as it was typed."""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 3)
    return f"{fence}text\n{text}\n{fence}"
