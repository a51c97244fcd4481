"""The colours of all our pages, as CSS variables for templates."""

from __future__ import annotations

from pathlib import Path

LOOK = Path(__file__).parent


def palette() -> str:
    """Return the style sheet of the colours, light and dark."""
    return "".join((LOOK / name).read_text(encoding="utf-8") for name in ("palette.css", "palette_dark.css"))
