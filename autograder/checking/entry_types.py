"""Types of entries in a learner's table of predictions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..language import Note
from .values import Other, describe

# Everyday answers, which no table of ours takes as a value.
_YES_AND_NO = ("yes", "no", "y", "n", "ok", "okay", "да", "нет", "ок")
_OUTCOMES = ("error", "exception", "fail", "fails", "works", "raises", "ошибка", "исключение", "работает", "принято")
CASUAL = frozenset(_YES_AND_NO + _OUTCOMES)
SLIPS = frozenset(f"note.entry_{kind}" for kind in ("kind", "word", "text", "bool", "comma", "number"))


def is_slip(note: Note) -> bool:
    """Return whether a note tells of an entry that is written in a way in which no answer can be."""
    return note.id in SLIPS


def mistyped(table: Mapping[str, Any], truth: Mapping[str, Any]) -> Iterator[Note]:
    """Yield a note for each entry of `table` that is a slip of writing.

    Such are "2.0" in quotes, 1 for True, and "yes". A decimal comma makes a pair of integers of a number. None, and the
    name of an error in place of a number, are predictions and no slips: a note would tell the right answer.
    """
    for entry, right in truth.items():
        given = table[entry]
        if id := _wrong_type(given, right):
            yield Note(
                f"note.entry_{id}", {"entry": entry, "value": given if isinstance(given, str) else describe(given)}
            )


def _wrong_type(given: Any, right: Any) -> str | None:
    if isinstance(given, (Other, dict, torch.Tensor)):
        return "kind"
    if isinstance(given, str):
        if given.strip().lower() in CASUAL:
            return "word"
        return "text" if not isinstance(right, str) and _is_literal(given) else None
    if type(right) is bool and type(given) in (int, float):
        return "bool"
    if type(right) in (int, float) and _is_pair(given):
        return "comma"
    return "number" if type(right) in (int, float) and type(given) is bool else None


def _is_pair(given: Any) -> bool:
    """Return whether a value is a pair of integers, as Python makes of `4,5`."""
    return isinstance(given, (list, tuple)) and len(given) == 2 and all(type(each) is int for each in given)


def _is_literal(text: str) -> bool:
    """Return whether a text reads as a number, True, False, None, or a tuple or list of these."""
    try:
        return not isinstance(ast.literal_eval(text.strip()), str)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
