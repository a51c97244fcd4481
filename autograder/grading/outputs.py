"""How much of what a submission printed is kept: a notebook and a page of feedback that a browser can open."""

from __future__ import annotations

from typing import Any

from nbformat.notebooknode import NotebookNode
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
