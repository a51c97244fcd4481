"""Outputs of cells as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from nbconvert.filters import ansi2html

_LONGEST = 20_000  # characters of text that a page shows


def to_html(outputs: Sequence[dict[str, Any]], alt: str = "") -> str:
    """Return a cell's outputs as HTML, without its errors. `alt` describes its bitmaps."""
    return "\n".join(filter(None, (_one(output, alt) for output in outputs)))


def failed(outputs: Sequence[dict[str, Any]]) -> bool:
    """Return whether the cell raised an error: it needs an answer that is not there."""
    return any(output["output_type"] == "error" for output in outputs)


def _one(output: dict[str, Any], alt: str) -> str:
    if output["output_type"] == "stream":
        return _text(output["text"])
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="drawn" tabindex="0">{data["text/html"]}</div>'
    if "image/svg+xml" in data:
        return f'<div class="drawn">{data["image/svg+xml"]}</div>'
    if "image/png" in data:
        said = escape(alt or str(data.get("text/plain", "")), quote=True)
        return f'<div class="drawn"><img alt="{said}" src="data:image/png;base64,{data["image/png"].strip()}"></div>'
    return _text(data["text/plain"]) if "text/plain" in data else ""


def _text(text: str) -> str:
    shown = ansi2html(re.sub(r" at 0x[0-9a-f]+", "", text)[:_LONGEST].rstrip())
    return f'<pre class="said" tabindex="0">{shown}</pre>' if shown else ""
