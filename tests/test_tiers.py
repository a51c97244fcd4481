"""The tiers of tests: each nightly test names a faster one that every commit runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@cache
def sources() -> dict[str, ast.Module]:
    """Return the syntax trees of all files of tests."""
    return {f"tests/{path.relative_to(TESTS)}": ast.parse(path.read_text("utf-8")) for path in TESTS.rglob("test_*.py")}


def nightly_marks(code: ast.AST) -> list[ast.expr]:
    """Return the expressions `pytest.mark.nightly` in code, or their calls."""
    calls = {node.func: node for node in ast.walk(code) if isinstance(node, ast.Call)}
    marks = [node for node in ast.walk(code) if isinstance(node, ast.Attribute) and node.attr == "nightly"]
    return [calls.get(mark, mark) for mark in marks]


def run_by_every_commit(file: ast.Module) -> Iterator[str]:
    """Yield the names of a file's tests that are not nightly. A test may have some nightly cases among others."""
    of_file = [node for node in file.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    for test in file.body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            of_test = [each for each in test.decorator_list if "parametrize" not in ast.unparse(each)]
            if not any(map(nightly_marks, [*of_file, *of_test])):
                yield test.name


@cache
def twins() -> frozenset[str]:
    """Return the tests of every commit."""
    return frozenset(f"{name}::{test}" for name, file in sources().items() for test in run_by_every_commit(file))


def twin_of(mark: ast.expr) -> str:
    """Return the test that a mark names, "" if none."""
    match mark:
        case ast.Call(args=[], keywords=[ast.keyword(arg="twin", value=ast.Constant(value=str(twin)))]):
            return twin
    return ""


def without_twin(file: ast.Module) -> list[str]:
    """Return the marks in a file that do not name a test of every commit."""
    return [ast.unparse(mark) for mark in nightly_marks(file) if twin_of(mark) not in twins()]


def test_every_nightly_test_has_a_twin() -> None:
    assert {name: found for name, file in sources().items() if (found := without_twin(file))} == {}


@pytest.mark.parametrize(
    "arguments", ["", "()", "(twin='tests/test_none.py::test_a')", "('tests/test_tiers.py::SLOW')"]
)
def test_a_mark_without_a_twin_is_found(arguments: str) -> None:
    assert without_twin(ast.parse(f"@pytest.mark.nightly{arguments}\ndef test_a(): ...")) != []
    assert without_twin(ast.parse(f"pytestmark = [pytest.mark.long(9), pytest.mark.nightly{arguments}]")) != []


SLOW = """
@pytest.mark.nightly(twin="x")
def test_slow(): ...
@pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.nightly(twin="x"))])
def test_in_part(a): ...
def test_fast(): ...
"""


def test_nightly_tests_are_no_twins() -> None:
    assert list(run_by_every_commit(ast.parse(SLOW))) == ["test_in_part", "test_fast"]
    assert list(run_by_every_commit(ast.parse(f"pytestmark = pytest.mark.nightly(twin='x')\n{SLOW}"))) == []
