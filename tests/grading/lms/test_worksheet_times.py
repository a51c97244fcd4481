"""Times in Moodle's worksheets, as `userdate` writes them in each language."""

from __future__ import annotations

from datetime import datetime

import pytest

from autograder.grading.tables.local_times import read_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Monday, 23 November 2026, 6:05 PM", datetime(2026, 11, 23, 18, 5)),
        ("Monday, 23 November 2026, 12:05 AM", datetime(2026, 11, 23, 0, 5)),
        ("Monday, November 23, 2026, 6:05 PM", datetime(2026, 11, 23, 18, 5)),
        ("понедельник, 23 ноября 2026, 18:05", datetime(2026, 11, 23, 18, 5)),
        ("среда, 6 мая 2026, 09:07", datetime(2026, 5, 6, 9, 7)),
        ("23 нояб. 2026 г., 18:05:01", datetime(2026, 11, 23, 18, 5, 1)),
        ("23.11.2026 18:05", datetime(2026, 11, 23, 18, 5)),
        ("23/11/26, 18:05", datetime(2026, 11, 23, 18, 5)),
        ("2026-11-23T18:05:00", datetime(2026, 11, 23, 18, 5)),
        ("-", None),
        ("", None),
        ("Monday, 31 November 2026, 6:05 PM", None),
    ],
)
def test_times_in_worksheets(text: str, time: datetime | None) -> None:
    assert read_time(text) == time
