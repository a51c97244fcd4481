"""Names that a statement binds, as Python says."""

import ast

import pytest

from autograder.bound_names import bound_names, names_bound_by
from autograder.grade_ids import find_lost

BINDS = [
    "x = 1",
    "x: int = 1",
    "x, y = 1, 2",
    "x += 1",
    "(y := 1, x := 2)",
    "def x(): ...",
    "async def x(): ...",
    "class x: ...",
    "import x",
    "import a.b as x",
    "from m import x",
    "for x in y: ...",
    "with a as x: ...",
    "if c: x = 1",
    "try: ...\nexcept E as x: ...",
    "match y:\n    case [x]: ...",
]
BINDS_NOT = ["x.a = 1", "x[0] = 1", "print(x)", "[x for x in y]", "lambda x: x", "def f(x): x = 1", "%x = 1", "x ="]


@pytest.mark.parametrize("source", BINDS)
def test_a_statement_binds_what_python_says(source):
    assert "x" in bound_names(source)
    assert "x" in names_bound_by(ast.parse(source).body[0])
    assert find_lost([("", source)], {"answer-x": "x = None"}) == {0: "answer-x"}


@pytest.mark.parametrize("source", BINDS_NOT)
def test_other_code_binds_nothing_of_the_kind(source):
    assert "x" not in bound_names(source)
    assert find_lost([("", source)], {"answer-x": "x = None"}) == {}
