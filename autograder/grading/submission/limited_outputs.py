"""Outputs of a submission's cells, of safe types and limited sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import nh3
from nbformat.notebooknode import NotebookNode
from nbgrader import preprocessors
from traitlets import Integer

from ...messages.learners import message
from ..files.pictures import KINDS, is_picture
from ..sandbox.grader.resource_watch import Ending

_FOR_INSTRUCTOR = "autograder_for_instructor"  # in the metadata of an output


def output(kind: str, **fields: Any) -> NotebookNode:
    """Return an output of the type `kind` in nbformat's form.

    Nested dicts in `fields` stay plain dicts: their values cannot be read as attributes.
    """
    return NotebookNode(output_type=kind, **fields)


def for_instructor(text: str) -> NotebookNode:
    """Return an output that formgrader shows, and no page for students."""
    return output("display_data", data={"text/plain": text}, metadata={_FOR_INSTRUCTOR: True})


def without_outputs_for_instructor(notebook: NotebookNode) -> None:
    """Remove from a graded notebook what `for_instructor` made."""
    for cell in notebook.cells:
        if cell.get("outputs"):
            cell.outputs = [each for each in cell.outputs if _FOR_INSTRUCTOR not in each.get("metadata", {})]


def stopped_output(why: Ending, language: str | None) -> NotebookNode:
    """Return the error to show as the output of a cell that was not run.

    Without an error nbgrader would give full points to the cell. If `language` is None, the text is in English and
    Russian, otherwise in "en" or "ru".
    """
    text = message(f"run.{why}").read(language)
    return output("error", ename="Stopped", evalue=why, traceback=text.splitlines())


def needless_output(language: str | None) -> NotebookNode:
    """Return what a released cell shows that was not run, because nothing graded needs it.

    If `language` is None, the text is in English and Russian, otherwise in "en" or "ru".
    """
    return output("stream", name="stdout", text=message("run.needless").read(language))


class LimitOutput(preprocessors.LimitOutput):  # type: ignore[misc]
    """nbgrader's preprocessor that shortens outputs, with an additional limit.

    nbgrader limits the number of lines, this class also the number of characters.
    """

    max_characters = Integer(20_000, help="maximum number of characters of one output").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        for index, cell in enumerate(nb.cells):
            if cell.get("outputs"):
                self.preprocess_cell(cell, resources, index)
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        for output in cell.outputs:
            if output.output_type == "stream":
                output.text = self._cut(output.text)
            elif output.output_type == "error":
                output.evalue = self._cut(output.evalue)
                output.traceback = [self._cut(line) for line in output.traceback]
            elif "text/plain" in output.data:
                output.data["text/plain"] = self._cut(output.data["text/plain"])
        return cell, resources

    def _cut(self, text: str) -> str:
        half = self.max_characters // 2
        return text if len(text) <= 2 * half else f"{text[:half]}\n... Output truncated ...\n{text[-half:]}"


_MOST = 200  # outputs of one cell
_MOST_TAGS = 2_000  # of one HTML output
_LONGEST_HTML = 50_000  # characters of one HTML output: cleaning a tag takes quadratic time in its attributes
_TEXT_TAGS = {"a", "b", "blockquote", "br", "code", "div", "em", "hr", "i", "p", "pre", "small", "span", "strong"}
_BLOCK_TAGS = {"details", "h1", "h2", "h3", "h4", "li", "ol", "summary", "ul"}
_TABLE_TAGS = {"table", "tbody", "td", "th", "thead", "tr"}
_TAGS = _TEXT_TAGS | _BLOCK_TAGS | _TABLE_TAGS | {"abbr", "acronym"}


@dataclass
class OutputBudget:
    """The amount of output that a notebook may still have."""

    characters: int = 32 << 20
    html: int = 500_000  # characters
    tags: int = 20_000

    def take(self, data: dict[str, str]) -> bool:
        """Subtract the size of an output from the budget. Returns False if the output does not fit.

        `data` maps MIME types, or other parts of an output, to texts.
        """
        page = data.get("text/html", "")
        size, html, tags = sum(map(len, data.values())), len(page), page.count("<")
        if size > self.characters or html > min(self.html, _LONGEST_HTML) or tags > min(self.tags, _MOST_TAGS):
            return False
        self.characters, self.html, self.tags = self.characters - size, self.html - html, self.tags - tags
        return True


def safe_outputs(raw: object, number: int, room: OutputBudget | None = None) -> list[NotebookNode]:
    """Return a child's outputs `raw`, rebuilt in nbformat's form. `number` is the cell's execution count.

    Text, errors and bitmaps are kept, and HTML loses its scripts. Records of verdicts are dropped: a child cannot make
    verdicts.
    Outputs that are invalid or do not fit into `room` are replaced by one error. Without an error nbgrader would give
    full points to a cell without outputs.
    """
    room = room or OutputBudget()
    listed = raw if isinstance(raw, list) else [None]
    found = [_kept(each, number, room) for each in listed[:_MOST]]
    if None in found or len(listed) > _MOST:
        lines = message("run.left_out").read(None).splitlines()
        found.append(output("error", ename="TooLong", evalue="", traceback=lines))
    return [each for each in found if each is not None]


def _kept(raw: object, number: int, room: OutputBudget) -> NotebookNode | None:
    """Return one output of a child in nbformat's form, or None if it is invalid or too large."""
    match raw:
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": str(text)}:
            return output("stream", name=name, text=text) if room.take({name: text}) else None
        case {"output_type": "error", "ename": str(name), "evalue": str(said), "traceback": list(lines)}:
            text = "\n".join([line for line in lines if isinstance(line, str)])
            kept = room.take({"name": name, "said": said, "lines": text})
            return output("error", ename=name, evalue=said, traceback=text.split("\n")) if kept else None
        case {"output_type": "execute_result" | "display_data" as kind, "data": dict(data)}:
            shown = _kept_data(data, room)
            counted = {"execution_count": number} if kind == "execute_result" else {}
            return None if shown is None else output(kind, data=shown, metadata={}, **counted)
    return None


def _kept_data(data: dict[str, object], room: OutputBudget) -> dict[str, str] | None:
    """Return a dict from MIME type to text, for the visible parts of a display output.

    Returns None if nothing fits into `room`.
    """
    kept = {kind: text for kind in ("text/plain", "text/latex") if isinstance(text := data.get(kind), str)}
    pictures = {kind: text for kind in KINDS if is_picture(kind, text := data.get(kind)) and isinstance(text, str)}
    if not room.take(kept := kept | pictures):
        return None
    page = data.get("text/html")
    if isinstance(page, str) and not pictures:  # a page would be shown in place of the picture
        if room.take({"text/html": page}):
            kept["text/html"] = _harmless(page)
        elif not kept:
            return None
    return kept


@lru_cache(maxsize=64)
def _harmless(page: str) -> str:
    """Return the HTML text `page` without scripts and other active content.

    Results are cached, because most HTML outputs come from released cells.
    """
    return nh3.clean(page, tags=_TAGS, attributes={"*": {"lang"}}, link_rel=None)
