"""Files that nbgrader adds to a submission."""

from __future__ import annotations

from datetime import UTC, datetime

from nbgrader.utils import parse_utc

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # written by nbgrader, and read before all others
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


def in_utc(text: str) -> str | None:
    """Return the time that nbgrader's file `timestamp.txt` states, in UTC as ISO 8601. `text` is the file's content.

    Returns None if the file is empty.
    Raises ValueError if the text is not a time.
    """
    return utc_time(text).isoformat() if text.strip() else None


def utc_time(text: str) -> datetime:
    """Return the time that a text in nbgrader's form states, in UTC. Students can write the text.

    Raises ValueError if the text is not a time, or if no clock can have shown the time.
    """
    try:
        time: datetime = parse_utc(text.strip()).replace(tzinfo=UTC)
    except Exception as error:  # dateutil, which reads the text, has errors of many kinds
        raise ValueError(f"no time: {text!r}") from error
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:  # in another time zone it may have no year at all
        raise ValueError(f"a time in the year {time.year}")
    return time
