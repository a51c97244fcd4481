"""The column of an assignment in a gradebook of many."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ....errors import UserError


def find_column(titles: Mapping[int, str], assignment: str, gradebook: str) -> int:
    """Return the index of the column whose title has the assignment's name, or the number in front of it.

    `titles` maps indexes to titles. `gradebook` names the file in the message.
    Raises UserError if none or more than one fits.
    """
    number, words = re.match(r"(\d*)_?(.*)", assignment).groups()  # type: ignore[union-attr]
    fits = [at for at, head in titles.items() if assignment.casefold() in head.casefold()]
    fits = fits or [at for at, head in titles.items() if words.replace("_", " ").casefold() in head.casefold()]
    fits = fits or [at for at, head in titles.items() if number and re.search(rf"(?<!\d){number}(?!\d)", head)]
    if len(fits) != 1:
        found = ", ".join(titles.values()) or "none"
        raise UserError(f"which column of {gradebook} is {assignment}? Give one of them its name: {found}")
    return fits[0]
