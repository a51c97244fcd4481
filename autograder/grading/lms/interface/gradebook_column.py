"""The column of an assignment in a gradebook of many."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ....errors import UserError
from .grade_table import GradeTable

_NUMBERS = re.compile(r"\s*(\(\d+\)|(\[[^\[\]]*\]\s*)?\|\d+)$")  # "(12)" of Canvas, "[Total Pts: 10 Score] |12"


def find_column(titles: Mapping[int, str], assignment: str, gradebook: str) -> int:
    """Return the index of the column whose title has the assignment's name, or the number in front of it.

    `titles` maps indexes to titles. `gradebook` names the file in the message. The LMS's numbers behind a title do not
    count. A title that is the name goes before one that has more words.
    Raises UserError if none or more than one fits.
    """
    name = _words(assignment)
    without_number = name[1:] if name[:1] and name[0].isdecimal() and name[1:] else name
    words = {at: _words(_NUMBERS.sub("", title)) for at, title in titles.items()}
    fits = [at for at, title in words.items() if title == name]
    fits = fits or [at for at, title in words.items() if title == without_number]
    for part in (name, without_number, name[:1] if without_number != name else ()):
        fits = fits or [at for at, title in words.items() if part and _contains(title, part)]
    if len(fits) != 1:
        found = ", ".join(titles.values()) or "none"
        raise UserError(f"which column of {gradebook} is {assignment}? Give one of them its name: {found}")
    return fits[0]


def describe_columns(tables: Mapping[str, GradeTable]) -> list[str]:
    """Return a sentence on the column of each gradebook in which grades were written. `tables` maps files to tables."""
    return [f"in {name} only the column “{table.column}” has changed" for name, table in tables.items()]


def _words(text: str) -> Sequence[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _contains(title: Sequence[str], part: Sequence[str]) -> bool:
    return any(title[at : at + len(part)] == part for at in range(len(title)))
