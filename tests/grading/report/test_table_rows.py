"""Tables of predictions in the report: which row went wrong, how often, and with which values."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup, Tag
from nbformat.v4 import new_output

from autograder import exercises
from autograder.checking.judge import unobserved
from autograder.checking.verdict import MIME
from autograder.grading.class_counts.counts import Answered, Graded
from autograder.language import Note
from support.course import Course
from support.report import exercise, plain, report

TABLE = "predict_accumulation"


def rows(article: Tag) -> list[tuple[str, str]]:
    return [(plain(row.select(".count")[0]), plain(row.div.find_next("div"))) for row in article.select(".rows li")]


def test_rows_come_with_their_wrong_values_the_worst_first(page: BeautifulSoup) -> None:
    article = exercise(page, TABLE)
    assert rows(article) == [
        ("4", "w.grad after the second backward Right: -40 Given: -8 × 3, -48 × 1"),
        ("1", "copy Right: -32 Given: -40 × 1 Left empty: 1"),
    ]
    filled, rest = (plain(each) for each in article.select("h4 + .quiet, .rows + .quiet"))
    assert filled == "Tables filled in: 13. Not begun: 1."
    assert rest == "Nobody was wrong about w.grad before, first, w.grad after zero_grad."


def test_an_exercise_that_is_no_table_has_no_rows(page: BeautifulSoup) -> None:
    assert rows(exercise(page)) == []


def test_the_rows_are_in_russian_too(graded: Course) -> None:
    article = exercise(report(graded, "--language", "ru", ending=".ru"), TABLE)
    assert rows(article)[1][1] == "copy Верно: -32 Ответы: -40 × 1 Не заполнено: 1"


def answered(*tables: object, gaps: str = "") -> Answered:
    """The counts of answers to a table, from the outputs of their checks."""
    known = exercises.find(TABLE)
    graded = Graded("any", 1, exercises={TABLE: Answered(known)})
    for number, table in enumerate(tables):
        rows = [[label, *values] for label, values in table.items()] if isinstance(table, dict) else table
        graded.add(str(number), {f"check-{TABLE}": {"outputs": [output(rows)]}}, {})
    if gaps:
        note = Note("absent.entries", {"entries": gaps, "filled": 1, "total": 2})
        graded.add("unfinished", {f"check-{TABLE}": {"outputs": [output({}, note)]}}, {})
    return graded.exercises[TABLE]


def output(rows: object, note: Note | None = None) -> object:
    verdict = unobserved(exercises.find(TABLE), "not yet", note or Note("absent.stub", {}))  # type: ignore[arg-type]
    return new_output("execute_result", data={MIME: verdict.to_json()}, metadata={"rows": rows})


def test_tables_of_several_programs_count_together_where_the_rows_correspond() -> None:
    found = answered(
        {"x.grad": ("1", "2"), "after 3 steps, lr=0.1": ("5", None)},
        {"after 3 steps, lr=0.5": ("7", "8"), "x.grad": ("4", "2")},
        {"another": ("1", "2")},
        gaps="`after 3 steps, lr=0.25`",
    ).tables
    assert [(each.filled, len(each.rows)) for each in found] == [(2, 2), (1, 1)]
    first, second = found[0].rows
    assert (first.label, first.right, first.wrong) == ("x.grad", None, {("2", "1"): 1, ("2", "4"): 1})
    assert (second.label, second.right, second.wrong) == ("after 3 steps, lr=…", None, {("8", "7"): 1})
    assert [row.empty for row in found[0].rows] == [0, 1]


@pytest.mark.parametrize("rows", [None, [], [[]], [["x", "1"]], [["x", 1, 2]], [[["x"], "1", None]], [{"x": "1"}]])
def test_a_record_of_another_form_counts_nothing(rows: object) -> None:
    assert answered(rows).tables == []
