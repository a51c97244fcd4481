"""Numbers and comments in the cells of tables, compared and recorded."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping


class Ledger:
    """A record of values written into tables, unlike those of people.

    `written` maps a cell, such as "Moodle petrova grade", to all values ever written there. If `overwrites` is True,
    values of people are replaced as well.
    """

    def __init__(self, written: Mapping[str, list[str]], overwrites: bool) -> None:
        self.written = {cell: list(values) for cell, values in written.items()}
        self._overwrites = overwrites

    def may_replace(self, cell: str, old: str, new: str) -> bool:
        """Return whether `new` may replace `old`: the cell is empty, or we have written `old`."""
        return (
            self._overwrites
            or not old
            or equal_numbers(old, new)
            or (number_in(new) is None and _same(old, new))
            or any(_same(old, each) for each in self.written.get(cell, ()))
        )

    def record(self, cell: str, value: str) -> None:
        """Store that a value is written."""
        values = self.written.setdefault(cell, [])
        if value not in values:
            values.append(value)


def number_in(text: str) -> float | None:
    """Return the number in a cell, which may have a decimal point or comma. Returns None if the cell has no number."""
    try:
        return float(text.replace(",", ".").replace("\xa0", ""))
    except ValueError:
        return None


def has_decimal_comma(texts: Iterable[str]) -> bool | None:
    """Return whether the numbers `texts` have a decimal comma. Returns None if none has a comma or a point."""
    marks = {mark for text in texts for mark in ",." if mark in text}
    return "," in marks if marks else None


def equal_numbers(old: str, new: str, within: float = 0.005) -> bool:
    """Return whether two cells hold the same number. Numbers are written with two digits."""
    first, second = number_in(old), number_in(new)
    return first is not None and second is not None and abs(first - second) < within


def _same(old: str, new: str) -> bool:
    """Return whether a cell holds what we have written: an LMS may round numbers and add HTML to comments."""
    if number_in(old) is None or number_in(new) is None:
        return _plain(old) == _plain(new)
    digits = len(old) - 1 - max(map(old.rfind, ".,")) if re.search("[.,]", old) else 0
    return equal_numbers(old, new, 0.5 * 10**-digits + 1e-9)


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
