"""Cells and metadata of a submitted notebook, whose JSON may hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def source_of(cell: Mapping[str, Any]) -> str:
    """Return the source of a submitted cell as text that can be written to a file."""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join([line for line in source if isinstance(line, str)])
    return writable(source) if isinstance(source, str) else ""


def writable(text: str) -> str:
    """Return a text without lone surrogates, which are valid JSON but cannot be written to a file."""
    return text.encode("utf-8", "replace").decode()


def grade_id_of(cell: Mapping[str, Any]) -> str:
    """Return the grade id in a submitted cell's metadata, or an empty text if there is none."""
    metadata = cell.get("metadata")
    ours = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = ours.get("grade_id") if isinstance(ours, dict) else None
    return name if isinstance(name, str) else ""


def origin_of(notebook: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a submitted notebook says of its origin: lesson, language, student. May be empty."""
    metadata = notebook.get("metadata")
    told = metadata.get("autograder") if isinstance(metadata, dict) else None
    return told if isinstance(told, dict) else {}
