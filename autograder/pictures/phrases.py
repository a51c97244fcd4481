"""Short texts of pictures: shapes, errors, and whether text is enough."""

from __future__ import annotations

from collections.abc import Sequence

from ..learner.session import being_graded


def text_is_enough() -> bool:
    """While a notebook is graded, a picture is its text: drawing takes longer than all checks, for each of a class."""
    return being_graded() == "autograde"


def error_said(error: BaseException) -> str:
    """The kind of an error and its message, if it has one, on one line."""
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def shape(sizes: Sequence[int]) -> str:
    """A shape as torch writes it."""
    return str(tuple(int(size) for size in sizes))
