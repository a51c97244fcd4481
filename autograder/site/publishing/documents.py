"""The repository's documents, which the wheel has, too."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).parents[1] / "documents"  # where the wheel has them
FOLDER = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3]


def document(name: str) -> str:
    """Return the text of a document, such as `README.md`."""
    return (FOLDER / name).read_text(encoding="utf-8")
