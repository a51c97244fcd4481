"""Times that an LMS writes for people, and times in time zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.rules.toml_table import BadRule, local_moment
from autograder.grading.tables.local_times import is_day_first, read_time

MONTHS_RU = (
    "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября",
    "декабря",
)  # fmt: skip
ZONES = st.sampled_from(["Europe/Moscow", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "UTC"])
_MINUTES = st.integers(0, 23 * 365 * 24 * 60)
MOMENTS = _MINUTES.map(lambda minutes: datetime(2012, 1, 1) + timedelta(minutes=minutes))

quietly = settings(max_examples=200, derandomize=True, database=None)


@quietly
@given(MOMENTS)
def test_a_time_in_words_or_numbers_is_read(time: datetime) -> None:
    for text in (
        f"{time:%A, %d %B %Y, %I:%M %p}",
        f"{time:%A}, {time.day} {time:%B %Y}, {int(f'{time:%I}')}:{time:%M} {f'{time:%p}'.lower()}",
        f"вторник, {time.day} {MONTHS_RU[time.month - 1]} {time.year}, {time:%H:%M}",
        f"{time.day} {MONTHS_RU[time.month - 1][:3]}. {time.year} г., {time:%H:%M}:00",
        f"{time:%d.%m.%Y %H:%M}",
        f"{time:%d/%m/%y, %I:%M} {f'{time:%p}'[0]}.M.",
        time.isoformat(),
    ):
        assert read_time(text, day_first=True) == time, text


@pytest.mark.parametrize(
    "text",
    [
        "11/10/2026 19:00",  # the day or the month first?
        "10/24/2026 19:00",
        "23 marraskuu 2026, 18:05",  # November in Finnish
        "23 November 2026, 6:05 PM EST",
        "2026-11-23T18:05:00+03:00",
        "2026-11-23",
    ],
)
def test_a_time_that_can_be_read_in_two_ways_is_not_read(text: str) -> None:
    assert read_time(text) is None


def test_the_other_times_of_a_column_show_what_comes_first() -> None:
    assert is_day_first(["11/10/2026 19:00", "24/10/2026 19:00", "-", ""])
    assert not is_day_first(["11/10/2026 19:00", "10/24/2026 19:00"])
    assert not is_day_first(["11/10/2026 19:00", "24.10.2026 19:00"])


@quietly
@given(MOMENTS, ZONES)
def test_a_local_time_and_the_moment_are_the_same(time: datetime, name: str) -> None:
    """There and back. An hour that clocks skip is refused, of an hour that comes twice the second is taken."""
    zone = ZoneInfo(name)
    first, second = (time.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    exists = first.astimezone(zone).replace(tzinfo=None, fold=0) == time
    if not exists:
        with pytest.raises(BadRule, match="does not exist"):
            local_moment(time, zone, "x")
        return
    moment = local_moment(time, zone, "x")
    assert moment.astimezone(zone).replace(tzinfo=None, fold=0) == time
    assert moment == max(first, second)
    assert local_moment(moment + timedelta(0), zone, "x") == moment
