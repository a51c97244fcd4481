"""Late days, late steps and extensions around changes of the clocks, beside an independent calculation.

The calculation knows a time zone only by what its clocks show at each moment in UTC. It counts no spans and no offsets.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder.cli import main
from autograder.grading.rules.course_file import Rules, parse_rules
from autograder.grading.rules.late_credit import HandIn, credits, read_extensions
from support import public_reports
from support.course import make_folder

MINUTE = timedelta(minutes=1)
# Zones with changes of an hour, of half an hour, at midnight, on Saturday evening, and of the whole day.
CHANGES = {
    "America/New_York": [date(2026, 3, 8), date(2026, 11, 1)],
    "Europe/Berlin": [date(2026, 3, 29), date(2026, 10, 25)],
    "Europe/Moscow": [date(2014, 10, 26), date(2026, 10, 25)],
    "Australia/Lord_Howe": [date(2026, 4, 5), date(2026, 10, 4)],
    "America/Havana": [date(2026, 3, 8), date(2026, 11, 1)],
    "America/Nuuk": [date(2026, 3, 28), date(2026, 10, 24)],
    "Africa/Cairo": [date(2026, 4, 24), date(2026, 10, 29)],
    "Pacific/Apia": [date(2011, 12, 30), date(2011, 9, 24)],
    "UTC": [date(2026, 10, 25)],
}


def shown(moment: datetime, zone: str) -> datetime:
    """Return what a clock shows at a moment, without a time zone."""
    return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def last_moment(wall: datetime, zone: str) -> datetime:
    """Return the last minute, in UTC, up to which a clock has not gone past `wall`.

    If no clock ever shows `wall`, as it is skipped, the time is as far after the last minute before as `wall` is.
    """
    start = wall.replace(tzinfo=UTC) - timedelta(hours=26)
    minutes = [start + number * MINUTE for number in range(52 * 60)]
    equal = [moment for moment in minutes if shown(moment, zone) == wall]
    if equal:
        return equal[-1]
    before = max(moment for moment in minutes if shown(moment, zone) < wall)
    return before + (wall - shown(before, zone))


@st.composite
def hand_ins(draw: st.DrawFn) -> tuple[str, datetime, datetime]:
    """Draw a zone, a due date near a change of its clocks, and the time of a submission some days later."""
    zone = draw(st.sampled_from(sorted(CHANGES)))
    day = draw(st.sampled_from(CHANGES[zone]))
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=4)
    due = start + draw(st.integers(0, 6 * 1440)) * MINUTE
    late = draw(st.one_of(st.integers(0, 5 * 1440), st.integers(1380, 1500), st.integers(2820, 2940)))
    return zone, due, due + late * MINUTE


def rules_of(zone: str, due: datetime, more: str = "") -> Rules:
    text = f'time_zone = "{zone}"\n{more}\n[assignments.a]\ndue = {due.isoformat()}\ngrace = "10min"\n'
    return parse_rules(text + 'late = [{until = "1d", credit = 80}, {until = "2d 3h", credit = 50}]', "course.toml")


@settings(max_examples=100)
@given(hand_ins(), st.integers(0, 3))
def test_days_end_when_the_clock_shows_the_same_time(drawn: tuple[str, datetime, datetime], late_days: int) -> None:
    zone, due, came = drawn
    rules = rules_of(zone, due, f"late_days = {late_days}")

    def days_later(days: int, more: timedelta = timedelta(0)) -> datetime:
        return (last_moment(shown(due, zone) + timedelta(days=days), zone) if days else due) + more

    used = next((n for n in range(late_days) if came <= days_later(n, 10 * MINUTE)), late_days)
    steps = [
        (days_later(used, 10 * MINUTE), 100),
        (days_later(used + 1), 80),
        (days_later(used + 2, timedelta(hours=3)), 50),
    ]
    expected = next((credit for until, credit in steps if came <= until), 0)
    found = credits(rules, {"a": HandIn(came, due)})["a"]
    assert (found.percent, found.late_days) == (expected, used)


@settings(max_examples=100)
@given(hand_ins(), st.integers(1, 6))
@example(("Pacific/Apia", datetime(2011, 12, 28, 12, tzinfo=UTC), datetime(2012, 1, 1, tzinfo=UTC)), 2)  # skipped
@example(("Africa/Cairo", datetime(2026, 4, 22, 12, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)), 2)  # no midnight
def test_an_extension_to_a_date_ends_with_the_date(drawn: tuple[str, datetime, datetime], days: int) -> None:
    zone, due, _ = drawn
    rules, day = rules_of(zone, due), shown(due, zone).date() + timedelta(days=days)
    end = due + read_extensions(f"a {day}", rules, "x")["a"]
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    minutes = (start + number * MINUTE for number in range(64 * 60))
    assert end + timedelta(microseconds=1) == next(moment for moment in minutes if shown(moment, zone).date() > day)


@settings(max_examples=100)
@given(hand_ins(), st.integers(1, 4))
def test_an_extension_of_days_ends_at_the_same_time_of_the_clock(
    drawn: tuple[str, datetime, datetime], days: int
) -> None:
    zone, due, _ = drawn
    end = due + read_extensions(f"a +{days}d", rules_of(zone, due), "x")["a"]
    assert end == last_moment(shown(due, zone) + timedelta(days=days), zone)


def test_the_reported_course_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The clocks go back in the night after the due date."""
    make_folder(tmp_path / "course")
    text = (Path(public_reports.__file__).parent / "a_a_day_across_a_clock_change.toml").read_text(encoding="utf-8")
    (tmp_path / "course" / "course.toml").write_text(text, encoding="utf-8")
    students = ["id,name,extensions", "ann,Ann,00_first_gradient +1d", "bo,Bo,00_first_gradient 2026-11-01"]
    (tmp_path / "course" / "students.csv").write_text("\n".join(students), encoding="utf-8")
    assert main(["course", str(tmp_path / "course"), "--check"]) == 0
    said = capsys.readouterr().out
    assert "80 % until 2026-11-01 20:00" in said
    assert "ann Ann: due 2026-11-01 20:00 (extension 1 d)" in said
    assert "bo Bo: due 2026-11-01 23:59 (extension 1 d 4 h)" in said
    rules = parse_rules(text, "course.toml")
    due, came = rules.of("00_first_gradient").due, datetime(2026, 11, 2, 0, 30, tzinfo=UTC)
    assert due is not None
    assert credits(rules, {"00_first_gradient": HandIn(came, due)})["00_first_gradient"].percent == 100
    extended = due + read_extensions("00_first_gradient +1d", rules, "x")["00_first_gradient"]
    assert credits(rules, {"00_first_gradient": HandIn(came, extended)})["00_first_gradient"].late_days == 0
