"""Times as an LMS shows them to people, in English or Russian."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import datetime

_FIRST_YEAR, _LAST_YEAR = 1970, 2999  # in another time zone, a time far from these may be beyond Python's calendar
_LAST_MONTH = 12
_NAMES = (
    "january января январь,february февраля февраль,march марта март,april апреля апрель,may мая май,june июня июнь,"
    "july июля июль,august августа август,september сентября сентябрь,october октября октябрь,november ноября ноябрь,"
    "december декабря декабрь"
)
_MONTHS = {name: number for number, names in enumerate(_NAMES.split(","), 1) for name in names.split()}
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?")
# "Monday, 23 November 2026, 6:05 PM", «понедельник, 23 ноября 2026, 18:05»
_IN_WORDS = re.compile(
    r"(?P<day>\d{1,2})\s+(?P<month>[^\W\d_]{3,})\.?,?\s+(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
# "Monday, November 23, 2026, 6:05 PM"
_MONTH_FIRST = re.compile(
    r"(?P<month>[^\W\d_]{3,})\.?\s+(?P<day>\d{1,2}),\s+(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_IN_NUMBERS = re.compile(
    r"(?P<day>\d{1,2})(?P<mark>[./])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d),?\s+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)


def read_time(text: str, day_first: bool = False) -> datetime | None:
    """Return the time in a cell of Moodle's worksheet, without a time zone, or None if it cannot be read for certain.

    Three forms are known: ISO 8601, words ("23 November 2026, 6:05 PM", "November 23, 2026, 6:05 PM", «23 ноября 2026,
    18:05»), and numbers with the day before the month ("23.11.2026 18:05"). With slashes, either may come first:
    `day_first` tells whether it is the day (see `is_day_first`).
    """
    time = _read_time(text.strip(), day_first)
    return time if time and _FIRST_YEAR <= time.year <= _LAST_YEAR else None


def is_day_first(texts: Iterable[str]) -> bool:
    """Return whether the times of one column show that in numbers with slashes the day is before the month."""
    slashes = [found for text in texts if (found := _IN_NUMBERS.search(text)) and found["mark"] == "/"]
    return any(int(each["day"]) > _LAST_MONTH for each in slashes) and all(
        int(each["month"]) <= _LAST_MONTH for each in slashes
    )


def _read_time(text: str, day_first: bool) -> datetime | None:
    if _ISO.fullmatch(text):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(text)
    found = _IN_WORDS.search(text) or _MONTH_FIRST.search(text) or _IN_NUMBERS.search(text)
    if not found or text[found.end() :].strip():  # a time zone, which nobody may guess
        return None
    month = found["month"].casefold()
    if found.groupdict().get("mark") == "/" and not day_first and int(month) != int(found["day"]) <= _LAST_MONTH:
        return None
    half = (found["half"] or "").replace(".", "").lower()
    hour = int(found["hour"]) % 12 + 12 * (half == "pm") if half else int(found["hour"])
    year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
    try:
        number = int(month) if month.isdecimal() else _month(month)
        return datetime(year, number, int(found["day"]), hour, int(found["minute"]), int(found["second"] or 0))
    except ValueError:
        return None


def _month(word: str) -> int:
    """Return the number of a month for its name or the beginning of it, or 0 if no month is called so.

    The first letters alone may mislead: "marraskuu" is the Finnish November.
    """
    return next((number for name, number in _MONTHS.items() if name.startswith(word)), 0)
