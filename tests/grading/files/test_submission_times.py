"""Times that students can write: a time in UTC, or a ValueError."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from autograder.grading.files.nbgrader_files import in_utc, utc_time


def test_a_time_of_nbgrader_is_read() -> None:
    assert utc_time("2026-09-20 12:00:00.5 UTC\n") == datetime(2026, 9, 20, 12, 0, 0, 500_000, UTC)
    assert utc_time("2026-09-20T12:00:00+03:00").hour == 9
    assert in_utc(" \n") is None


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-01 02:00:00 +0300",
        "2026-10-31 23:00:00 GMT",
        "2026-11-01 02:00:00 Europe/Moscow",
        "2026-10-31 18:00:00 EST",
    ],
)
def test_a_known_zone_is_read(text: str) -> None:
    assert utc_time(text) == datetime(2026, 10, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2026-11-01 02:00:00 MSK",
        "2026-10-31 19:00:00.000000 EDT",
        "2026-11-01 02:00:00 UTC+3",
        "2026-11-01 02:00:00 EST-5",
        "2026-11-01 02:00:00 Moon/Crater",
        "0001-01-01 00:00:00 UTC",
        "0001-01-01 00:00:00 +2359",
        "9999-12-31 23:59:59 -2359",
        f"2026-01-01 0:00 {9**30}",
    ],
)
def test_no_time_of_any_clock_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        in_utc(text)
