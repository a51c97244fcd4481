"""Files that nbgrader adds to a submission."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from dateutil.parser import parse

TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # written by nbgrader, and read before all others
_SIGNED = re.compile(r"[A-Za-z]{3}\s?[+-]\d")
_FIRST_YEAR = 1970
_CLOCKS = timedelta(minutes=10)  # the clock of another machine may be wrong by so much


class FutureTime(ValueError):
    """An error: a time that has not come yet, which is `time`."""

    def __init__(self, time: datetime) -> None:
        super().__init__(f"a time in the future: {time}")
        self.time = time


def in_utc(text: str) -> str | None:
    """Return the time that nbgrader's file `timestamp.txt` states, in UTC as ISO 8601. `text` is the file's content.

    Returns None if the file is empty.
    Raises ValueError if the text is not a time.
    """
    return utc_time(text).isoformat() if text.strip() else None


def utc_time(text: str) -> datetime:
    """Return the time that a text in nbgrader's form states, in UTC. Students can write the text.

    A time without a zone is in UTC, as nbgrader has it. nbgrader itself (`parse_utc`) also takes every zone that it
    does not know for UTC, and "+0300" for 300 seconds.
    Raises FutureTime if it has not come yet, ValueError if the text is not a time, if its zone is unknown or ambiguous,
    such as MSK, or if no clock can have shown the time.
    """
    try:
        words, _, last = text.strip().rpartition(" ")
        named = _zone(last, None) if "/" in last else None
        time: datetime = parse(words if named else text.strip(), tzinfos=_zone)
        time = time.replace(tzinfo=named or time.tzinfo or UTC).astimezone(UTC)
        if _SIGNED.search(text):
            raise ValueError("dateutil reads UTC+3 as three hours west of Greenwich")
    except Exception as error:  # dateutil, which reads the text, has errors of many kinds
        raise ValueError(f"no time: {text!r}") from error
    if time.year < _FIRST_YEAR:  # in another time zone it may have no year at all
        raise ValueError(f"a time in the year {time.year}")
    if is_future(time):
        raise FutureTime(time)
    return time


def is_future(time: datetime) -> bool:
    """Return whether a time has not come yet. The clock of another machine may be fast by some minutes."""
    return time > datetime.now(UTC) + _CLOCKS


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    """Return the time zone of a time, by its name or its offset from UTC in seconds. None if neither is given.

    Raises LookupError or ValueError if the zone is unknown.
    """
    if name is None:
        return None if offset is None else timezone(timedelta(seconds=offset))
    return UTC if name == "UTC" else ZoneInfo(name)
