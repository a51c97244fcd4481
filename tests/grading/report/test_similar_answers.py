"""Similar answers: copies are found under other names, what the exercise forces is not."""

from __future__ import annotations

import re

import pytest

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


def test_what_many_different_answers_have_is_no_copy() -> None:
    answers = {f"s{number}": OWN + f"result_{number} = {number}\n" * number for number in range(4)}
    assert pairs(**answers) == []
    assert pairs(**dict([*answers.items()][:3])) != [], "three of them are few"


def test_code_that_is_no_python_is_compared_by_words() -> None:
    broken = OWN.replace("):", ")", 1)
    assert pairs(ann=broken + "\n'''", bo=broken + "\n'''", carl=OTHER) == [("ann", "bo")]


def test_pairs_of_several_exercises_come_first() -> None:
    found = similar_answers(
        {"e": {"ann": OWN, "bo": OWN}, "g": {"ann": OTHER, "bo": OTHER, "carl": OWN, "dina": OWN}}, {}
    )
    assert [pair.students for pair in found] == [("ann", "bo"), ("carl", "dina")]
    assert found[0].shared.keys() == {"e", "g"}


LOOP = """\
def f(batches, scale):
    total, count, seen = 0.0, 0, []
    for number in range(len(batches)):
        batch = batches[len(batches) - 1 - number]
        seen.append(batch.shape)
        if batch.dim() == 0:
            batch = batch.reshape(1)
        count = count + batch.numel()
        part = batch.sum(dim=0)
        total = total + scale * part.item() if part.dim() == 0 else total
    assert len(seen) == len(batches), seen
    return total / max(1, count)
"""


def renamed(**names: str) -> str:
    return re.sub(r"\b\w+\b", lambda found: names.get(found[0], found[0]), LOOP)


DISGUISES = {
    "verbatim": LOOP,
    "with comments": re.sub(
        "\n    (?=[a-z])", '\n\n    """Here\n    is more."""\n    # next, step by step\n    ', LOOP
    ),
    "one name": renamed(count="n_all"),
    "three names": renamed(count="n_all", batch="xx", part="yy"),
    "four names": renamed(count="n_all", batch="xx", part="yy", total="сумма"),
    "parameters": renamed(batches="data", scale="k"),
    "in other lines": LOOP.replace("(1, count)", "(\n        1,\n        count)").replace("    ", "\t"),
    "with a magic": "%matplotlib inline\n" + LOOP,
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_a_disguised_copy_ranks_as_a_copy_does(disguise: str) -> None:
    def tokens(copy: str) -> int:
        (pair,) = similar_answers({"e": {"ann": LOOP, "bo": copy, "carl": OTHER}}, {"e": [RIGHT]})
        assert pair.students == ("ann", "bo")
        return pair.tokens

    assert tokens(disguise) == tokens(LOOP) > 90


def test_one_more_variable_hides_little() -> None:
    more = LOOP.replace("    for", "    unused = scale\n    for").replace("seen", "shapes")
    assert pairs(ann=LOOP, bo=more, carl=OTHER) == [("ann", "bo")]


@pytest.mark.parametrize("torch_name", ["numel", "dim", "reshape"])
def test_names_of_torch_are_compared_as_they_are_spelled(torch_name: str) -> None:
    def tokens(copy: str) -> int:
        return similar_answers({"e": {"ann": LOOP, "bo": copy, "carl": OTHER}}, {"e": [RIGHT]})[0].tokens

    assert tokens(renamed(**{torch_name: "count"})) < tokens(LOOP)


def test_many_copies_are_one_group() -> None:
    answers = {f"s{number}": renamed(part=f"part_{number}") for number in range(10)}
    (group,) = similar_answers({"e": {**answers, "bo": OTHER}, "g": answers}, {})
    assert group.students == tuple(sorted(answers))
    assert group.shared.keys() == {"e", "g"}
    assert group.shared["e"] == LOOP.replace("part", "part_0").strip()


def test_comments_in_common_count() -> None:
    said = "".join(f"# I tried number {number} of my ways and gave up on it\n" for number in range(4))
    assert pairs(ann=said + RIGHT, bo=RIGHT + said) == [("ann", "bo")]
