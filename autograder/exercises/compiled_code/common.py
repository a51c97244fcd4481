"""Helpers for the exercises on compiled code and custom operators."""

from __future__ import annotations

import itertools

_NUMBERS = itertools.count(1)


def new_name() -> str:
    """Return a name for a custom operator that no other operator has.

    Operators belong to the process, and a second one of the same name would replace the first.
    """
    return f"trial::operator_{next(_NUMBERS)}"
