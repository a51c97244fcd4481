"""Texts that several pictures use, such as shapes and errors."""

from __future__ import annotations

from collections.abc import Sequence

from ..session import being_graded


def text_is_enough() -> bool:
    """Return whether nbgrader is grading, so that pictures are shown as text only.

    Drawing would take longer than all checks together.
    """
    return being_graded() == "autograde"


def error_said(error: BaseException) -> str:
    """Return an error as one line: its type, then its message if there is one."""
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def shape(sizes: Sequence[int]) -> str:
    """Return a shape as text, such as "(2, 3)"."""
    return str(tuple(int(size) for size in sizes))
