"""Rules of a course: what `course.toml` may state, and messages about what it may not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from autograder.grading.rules.course_file import parse_rules
from autograder.grading.rules.spans import Span
from autograder.grading.rules.toml_table import BadRule, Step, read_span

WHOLE = """
time_zone = "Europe/Moscow"
language = "ru"
late_days = 3
drop = 1

[defaults]
grace = "10min"
late = [{until = "1d", credit = 80}, {until = "7d", credit = 50}]

[assignments.03_gradient_accumulation]
release = 2026-09-10T09:00:00
due = 2026-09-17T23:59:00
exercises = ["train_epoch"]
points = {train_epoch = 5}

[assignments.05_jacobian_products]
due = 2026-09-24T23:59:00+00:00
late = []
"""


def test_rules_are_read_with_defaults_and_times_in_utc() -> None:
    rules = parse_rules(WHOLE, "course.toml")
    third, fourth = rules.of("03_gradient_accumulation"), rules.of("05_jacobian_products")
    assert (rules.zone.key, rules.language, rules.late_days, rules.drop) == ("Europe/Moscow", "ru", 3, 1)
    assert third.due == datetime(2026, 9, 17, 20, 59, tzinfo=UTC)
    assert third.release == datetime(2026, 9, 10, 6, tzinfo=UTC)
    assert third.late == (Step(Span(1), 80), Step(Span(7), 50))
    assert (third.exercises, third.points) == (("train_epoch",), {"train_epoch": 5.0})
    assert (fourth.due, fourth.late, fourth.grace) == (
        datetime(2026, 9, 24, 23, 59, tzinfo=UTC),
        (),
        Span(0, timedelta(minutes=10)),
    )
    assert rules.of("another").due is None


@pytest.mark.parametrize(
    ("late", "credit"),
    [("0min", 100), ("10min", 100), ("11min", 80), ("1d", 80), ("1d 1min", 50), ("7d", 50), ("8d", 0)],
)
def test_late_credit(late: str, credit: float) -> None:
    rules = parse_rules(WHOLE, "")
    one = rules.of("03_gradient_accumulation")
    assert one.due is not None
    assert one.credit(one.due + read_span(late, "").length, one.due, rules.zone) == credit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "course.toml is not valid TOML"),
        ("a." * 60_000 + "a = 1", "120,005 characters; at most 100,000 are read"),
        ("x = " + "[" * 2000, "lists in lists"),
        ("late_days = " + "9" * 5000, "not valid TOML"),
        ("late_days = 0x" + "f" * 50, "late_days is a number with many digits; it is at most 1,000,000"),
        ("language = {a = 1}", "language is a table; expected a text"),
        ("[assignments.a]\ndue = 0001-01-01T00:00:00", "in the year 1; it can be in the years 1970 to 2999"),
        ('[assignments.a]\ngrace = "99999d"', "and it has at most 9999 days"),
        ("[assignments.a]\npoints = {x = nan}", "points.x is nan; points are a number that is not negative"),
        ('time_zone = "Moscow"', 'no time zone; for example: time_zone = "Europe/Moscow"'),
        ('time_zone = "../etc"', "no time zone"),
        ('language = "de"', "language is 'de'; it can be en, ru; for example: language = "),
        ("late_days = -1", "must not be negative"),
        ('late_days = "3"', "expected a whole number"),
        ("dedline = 1", "unknown: dedline; known here: assignments, defaults"),
        ("[assignments.a]\ndeu = 1", "points, release, solutions, variants; for example: due = 2026-09-17T23:59:00"),
        ("[assignments.a]\ndue = 2026-13-01T00:00:00", "; for example: due = 2026-09-17T23:59:00"),
        ("[assignments.a]\ndue = '2026-09-17'", "expected a time or a date; for example: due = 2026-09-17T23:59:00"),
        ("[assignments.a]\ndue = 0001-01-01", "in the year 1; it can be in the years 1970 to 2999"),
        ("[assignments.a]\ndue = 2026-09-17T00:00:00\nrelease = 2026-09-18T00:00:00", "due before it is released"),
        ('[defaults]\ngrace = "soon"\n[assignments.a]', "a time span looks like 10min, 36h, 2d"),
        ('[assignments.a]\nlate = [{until = "2d", credit = 120}]', "percentage from 0 to 100"),
        ('[assignments.a]\nlate = [{until = "2d", credit = -5}]', "percentage from 0 to 100"),
        (
            '[assignments.a]\nlate = [{until = "2d"}]',
            'needs a time and a credit; for example: late = [{until = "1d", credit = 80}',
        ),
        (
            '[assignments.a]\nlate = [{until = "2d", credit = 50}, {until = "1d", credit = 20}]',
            "the time must grow and the credit must fall",
        ),
        ("[assignments.a]\npoints = {x = -1}", "points.x is -1"),
        (
            '[defaults]\nvariants = "each"\n[assignments.a]',
            "variants is 'each'; it can be common, per student; for example: variants = \"per student\"",
        ),
        ('[assignments."a/b"]', "letters, digits, - and _ only"),
        (
            'time_zone = "Europe/Berlin"\n[assignments.a]\ndue = 2026-03-29T02:30:00',
            "2026-03-29 02:30, which does not exist in Europe/Berlin: clocks skip that hour",
        ),
    ],
)
def test_a_wrong_rule_is_named(text: str, message: str) -> None:
    with pytest.raises(BadRule) as said:
        parse_rules(text, "course.toml")
    assert message in str(said.value)


def test_of_an_hour_that_comes_twice_the_second_is_taken() -> None:
    text = 'time_zone = "Europe/Berlin"\n[assignments.a]\ndue = 2026-10-25T02:30:00'
    assert parse_rules(text, "").of("a").due == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_a_date_alone_begins_and_ends_with_that_date() -> None:
    rules = parse_rules('time_zone = "Europe/Berlin"\n[assignments.a]\nrelease = 2026-09-10\ndue = 2026-09-17\n', "x")
    one = rules.of("a")
    assert one.release == datetime(2026, 9, 9, 22, tzinfo=UTC)
    assert one.due
    assert datetime(2026, 9, 17, 21, 59, 59, tzinfo=UTC) <= one.due < datetime(2026, 9, 17, 22, tzinfo=UTC)
