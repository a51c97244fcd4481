"""Credit for late work: extensions and late days, beside an independent calculation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.rules.course_file import Rules, parse_rules
from autograder.grading.rules.late_credit import HandIn, credits, describe_credit, read_extensions
from autograder.grading.rules.toml_table import BadRule

RULES = parse_rules(
    """
time_zone = "Europe/Moscow"
late_days = 3
[defaults]
grace = "10min"
late = [{until = "1d", credit = 80}, {until = "3d", credit = 50}]
[assignments.a]
due = 2026-09-10T23:59:00
[assignments.b]
due = 2026-09-17T23:59:00
[assignments.c]
due = 2026-09-24T23:59:00
[assignments.free]
""",
    "course.toml",
)
NOW = datetime(2026, 9, 1, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def percents(**late: timedelta) -> dict[str, tuple[float, int]]:
    return {name: (each.percent, each.late_days) for name, each in credits(RULES, handed_in(RULES, late)).items()}


def handed_in(rules: Rules, late: dict[str, timedelta]) -> dict[str, HandIn]:
    """Return hand-ins that come so long after the due date."""
    return {name: HandIn(due + late[name] if due else NOW, due) for name in late for due in (rules.of(name).due,)}


def test_late_days_are_used_in_the_order_of_the_due_dates() -> None:
    assert percents(b=2 * DAY, a=DAY + 11 * MINUTE) == {"a": (100, 2), "b": (80, 1)}
    assert percents(b=2 * DAY) == {"b": (100, 2)}
    assert percents(a=5 * DAY, b=MINUTE * 11) == {"a": (50, 3), "b": (80, 0)}


def test_grace_costs_no_late_day_and_no_due_date_no_credit() -> None:
    assert percents(a=10 * MINUTE, free=99 * DAY) == {"a": (100, 0), "free": (100, 0)}
    assert percents(a=DAY + 10 * MINUTE) == {"a": (100, 1)}


@given(st.fixed_dictionaries({name: st.integers(0, 6 * 1440) for name in "abc"}))
def test_credit_is_that_of_an_independent_calculation(minutes: dict[str, int]) -> None:
    left, expected = 3, {}
    for name in "abc":
        late = minutes[name]
        while late > 10 and left:
            late, left = late - 1440, left - 1
        expected[name] = 100 if late <= 10 else 80 if late <= 1440 else 50 if late <= 4320 else 0
    found = credits(RULES, handed_in(RULES, {name: late * MINUTE for name, late in minutes.items()}))
    assert {name: each.percent for name, each in found.items()} == expected


def test_extensions_are_spans_or_times() -> None:
    assert read_extensions("a +2d 3h; b 2026-09-20 23:59;", RULES, "x") == {
        "a": timedelta(days=2, hours=3),
        "b": 3 * DAY,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d +2d", "'d' is no assignment with a due date; with one are: a, b, c"),
        ("a 2 days", "neither a time span nor a time; for example: 03_gradient_accumulation +2d"),
        ("a +soon", "a time span looks like"),
        ("a 2026-09-01 00:00", "ends before the assignment is due"),
    ],
)
def test_a_wrong_extension_is_named(text: str, message: str) -> None:
    with pytest.raises(BadRule) as said:
        read_extensions(text, RULES, "students.csv, ann")
    assert message in str(said.value)
    assert str(said.value).startswith("students.csv, ann")


def test_spans_in_words() -> None:
    assert [describe_credit(span).en for span in (2 * DAY, DAY + 61 * MINUTE, timedelta(seconds=30), timedelta(0))] == [
        "2 d",
        "1 d 1 h 1 min",
        "1 min",
        "0 min",
    ]
    assert describe_credit(DAY + 61 * MINUTE).ru.replace("\N{NO-BREAK SPACE}", " ") == "1 дн. 1 ч 1 мин"
