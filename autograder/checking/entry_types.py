"""Types of entries in a learner's table of predictions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..language import Note
from .values import Other, describe


def mistyped(table: Mapping[str, Any], truth: Mapping[str, Any]) -> Iterator[Note]:
    """Yield a note for each entry of `table` with a value of a wrong type, such as "2.0" in quotes or 1 for True.

    None, and the name of an error in place of a number, are predictions and no wrong types: a note would tell the
    right answer.
    """
    for entry, right in truth.items():
        given = table[entry]
        if id := _wrong_type(given, right):
            yield Note(f"note.{id}", {"entry": entry, "value": given if isinstance(given, str) else describe(given)})


def _wrong_type(given: Any, right: Any) -> str | None:
    if isinstance(given, (Other, dict, torch.Tensor)):
        return "entry_kind"
    if isinstance(given, str):
        return "entry_text" if not isinstance(right, str) and _is_literal(given) else None
    if type(right) is bool and type(given) in (int, float):
        return "entry_bool"
    return "entry_number" if type(right) in (int, float) and type(given) is bool else None


def _is_literal(text: str) -> bool:
    """Return whether a text reads as a number, True, False, None, or a tuple or list of these."""
    try:
        return not isinstance(ast.literal_eval(text.strip()), str)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
