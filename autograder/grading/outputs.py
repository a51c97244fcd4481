"""What of a submission's outputs is kept: enough for a person, nothing that a browser would run."""

from __future__ import annotations

import re
from typing import Any

import bleach
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output
from nbgrader import preprocessors
from traitlets import Integer


class LimitOutput(preprocessors.LimitOutput):  # type: ignore[misc]
    """nbgrader's own, which limits lines; here long lines are cut as well."""

    max_characters = Integer(20_000, help="maximum number of characters of one output").tag(config=True)

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        for output in cell.get("outputs", []):
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
_PICTURES = ("image/png", "image/jpeg")
_TAGS = {
    *bleach.ALLOWED_TAGS,
    "div",
    "p",
    "pre",
    "span",
    "br",
    "hr",
    "small",
    "h1",
    "h2",
    "h3",
    "h4",
    "details",
    "summary",
}
_TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
_BASE64 = re.compile(r"[A-Za-z0-9+/=\n]*")


def kept_outputs(raw: object, number: int) -> list[NotebookNode]:
    """Outputs as a child sent them, made anew as nbformat has them. What has another form is left out.

    Text, errors and bitmaps stay as they are; HTML loses its scripts; a record of a verdict is never a student's.
    """
    found = [_kept(each, number) for each in raw[:_MOST]] if isinstance(raw, list) else []
    return [output for output in found if output is not None]


def _kept(raw: object, number: int) -> NotebookNode | None:
    match raw:
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": str(text)}:
            return new_output("stream", name=name, text=text)
        case {"output_type": "error", "ename": str(name), "evalue": str(said), "traceback": list(lines)}:
            return new_output("error", ename=name, evalue=said, traceback=[str(line) for line in lines])
        case {"output_type": "execute_result", "data": dict(data)}:
            return new_output("execute_result", data=_kept_data(data), execution_count=number)
        case {"output_type": "display_data", "data": dict(data)}:
            return new_output("display_data", data=_kept_data(data))
    return None


def _kept_data(data: dict[str, object]) -> dict[str, str]:
    kept = {kind: text for kind in ("text/plain", "text/latex") if isinstance(text := data.get(kind), str)}
    kept |= {kind: text for kind in _PICTURES if isinstance(text := data.get(kind), str) and _BASE64.fullmatch(text)}
    if isinstance(page := data.get("text/html"), str):
        kept["text/html"] = bleach.clean(page, tags=_TAGS, attributes={"*": ["lang"]}, strip=True)
    return kept
