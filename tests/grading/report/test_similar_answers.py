"""Similar answers: copies are found, what the exercise forces is not."""

from __future__ import annotations

from autograder.grading.report.similar_answers import similar_answers

RIGHT = "def f(x, y):\n    return (x * y).sum()\n"
OWN = """\
def f(x, y):
    # I add the products one by one, since I do not trust sum
    total_of_all = 0
    for number_of_row in range(len(x)):
        total_of_all = total_of_all + x[number_of_row] * y[number_of_row]
    return total_of_all
"""
OTHER = """\
def f(x, y):
    parts = [left * right for left, right in zip(x, y)]
    while len(parts) > 1:
        parts = [parts[0] + parts[1], *parts[2:]]
    return parts[0]
"""


def pairs(**answers: str) -> list[tuple[str, str]]:
    return [pair.students for pair in similar_answers({"e": answers}, {"e": [RIGHT]})]


def test_copies_are_found_with_their_text() -> None:
    spaced = OWN.replace(" = 0\n", "  =  0   # start\n").replace("    ", "  ")
    (pair,) = similar_answers({"e": {"ann": OWN, "bo": OTHER, "carl": spaced}}, {"e": [RIGHT]})
    assert pair.students == ("ann", "carl")
    assert "since I do not trust sum" in pair.shared["e"]
    assert pair.tokens > 30


def test_what_the_exercise_forces_is_no_copy() -> None:
    assert pairs(ann=RIGHT, bo=RIGHT, carl=RIGHT.replace("x * y", "y * x")) == []


def test_what_many_have_is_no_copy() -> None:
    assert pairs(**{f"s{number}": OWN for number in range(4)}) == []
    assert len(pairs(**{f"s{number}": OWN for number in range(3)})) == 3, "three of them are few"


def test_code_that_is_no_python_is_compared_by_words() -> None:
    broken = OWN.replace("):", ")", 1)
    assert pairs(ann=broken + "\n'''", bo=broken + "\n'''", carl=OTHER) == [("ann", "bo")]


def test_pairs_of_several_exercises_come_first() -> None:
    found = similar_answers(
        {"e": {"ann": OWN, "bo": OWN}, "g": {"ann": OTHER, "bo": OTHER, "carl": OWN, "dina": OWN}}, {}
    )
    assert [pair.students for pair in found] == [("ann", "bo"), ("carl", "dina")]
    assert found[0].shared.keys() == {"e", "g"}
