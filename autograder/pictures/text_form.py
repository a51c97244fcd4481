"""Short texts of pictures: shapes and errors."""

from __future__ import annotations

from collections.abc import Sequence

from ..learner.session import being_graded


def text_is_enough() -> bool:
    """Return whether pictures are shown as text only, as while a notebook is graded.

    Drawing takes longer than all checks, for every student.
    """
    return being_graded() == "autograde"


def error_said(error: BaseException) -> str:
    """Return the type and the message (if any) of an error on one line."""
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def shape(sizes: Sequence[int]) -> str:
    """Return a shape as torch writes it."""
    return str(tuple(int(size) for size in sizes))
