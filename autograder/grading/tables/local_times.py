"""Times as an LMS shows them to people, in English or Russian."""

from __future__ import annotations

import re
from datetime import datetime

_FIRST_YEAR, _LAST_YEAR = 1970, 2999  # in another time zone, a time far from these may be beyond Python's calendar
_STARTS = "jan янв,feb фев,mar мар,apr апр,may май мая,jun июн,jul июл,aug авг,sep сен,oct окт,nov ноя,dec дек"
_MONTHS = {start: number for number, starts in enumerate(_STARTS.split(","), 1) for start in starts.split()}
# "Monday, 23 November 2026, 6:05 PM", «понедельник, 23 ноября 2026, 18:05»
_IN_WORDS = re.compile(
    r"(?P<day>\d{1,2})\s+(?P<month>[^\W\d_]{3})[^\W\d_]*\.?,?\s+(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm])?"
)
# "Monday, November 23, 2026, 6:05 PM"
_MONTH_FIRST = re.compile(
    r"(?P<month>[^\W\d_]{3})[^\W\d_]*\.?\s+(?P<day>\d{1,2}),\s+(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm])?"
)
_IN_NUMBERS = re.compile(
    r"(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4}|\d\d),?\s+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[AaPp]\.?[Mm])?"
)


def read_time(text: str) -> datetime | None:
    """Return the time in a cell of Moodle's worksheet, without a time zone, or None if the cell has no time.

    Three forms are known: ISO 8601, words ("23 November 2026, 6:05 PM", "November 23, 2026, 6:05 PM", «23 ноября 2026,
    18:05»), and numbers with the day before the month ("23.11.2026 18:05").
    """
    time = _read_time(text.strip())
    return time if time and _FIRST_YEAR <= time.year <= _LAST_YEAR else None


def _read_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        pass
    found = _IN_WORDS.search(text) or _MONTH_FIRST.search(text) or _IN_NUMBERS.search(text)
    if not found:
        return None
    month = found["month"].casefold()
    half = (found["half"] or "").replace(".", "").lower()
    hour = int(found["hour"]) % 12 + 12 * (half == "pm") if half else int(found["hour"])
    year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
    try:
        number = int(month) if month.isdecimal() else _MONTHS[month]
        return datetime(year, number, int(found["day"]), hour, int(found["minute"]), int(found["second"] or 0))
    except (LookupError, ValueError):
        return None
