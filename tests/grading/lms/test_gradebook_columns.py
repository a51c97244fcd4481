"""The column of an assignment in a gradebook of many: never one that only looks like it."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.grading.lms.interface.gradebook_column import find_column


@pytest.mark.parametrize(
    ("assignment", "titles", "found"),
    [
        ("12_checkpointing", ["Essay (12)", "Lesson 12 (40)"], 1),
        ("10_loops", ["Essay [Total Pts: 10 Score] |1281893", "Lesson 10 [Total Pts: 5 Score] |1281894"], 1),
        ("00_first_gradient", ["00_first_gradient retake (13)", "00_first_gradient (12)"], 1),
        ("00_first_gradient", ["First Gradient, again (13)", "First  gradient (12)"], 1),
        ("00_first_gradient", ["Lesson 100 (13)", "Lesson 00 (12)"], 1),
        ("homework_1", ["homework_10 (13)", "homework_1: loops (12)"], 1),
        ("homework_1", ["Homework 10 (13)", "Homework 1 (12)"], 1),
    ],
)
def test_the_column_is_found(assignment: str, titles: list[str], found: int) -> None:
    assert find_column(dict(enumerate(titles)), assignment, "the gradebook") == found


@pytest.mark.parametrize(
    ("assignment", "titles"),
    [
        ("12_checkpointing", ["Essay (12)"]),
        ("10_loops", ["Essay [Total Pts: 10 Score] |1281893"]),
        ("homework_1", ["Homework 10 (13)"]),
        ("12_checkpointing", ["Lesson 112 (3)", "Lesson 12a (4)", "12 monkeys (5)", "Lesson 12 (6)"]),
        ("00_first_gradient", ["00_first_gradient A (12)", "00_first_gradient B (13)"]),
        ("00_first_gradient", ["00_first_gradient (12)", "00_first_gradient (13)"]),
    ],
)
def test_a_column_is_never_guessed(assignment: str, titles: list[str]) -> None:
    with pytest.raises(UserError, match=f"is {assignment}"):
        find_column(dict(enumerate(titles)), assignment, "the gradebook")
