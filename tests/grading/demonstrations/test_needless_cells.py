"""Cells that are not run: everything else shows the same as if all had been run."""

from __future__ import annotations

import contextlib
import io
import random
from typing import Any

import pytest

from autograder.grading.demonstrations.cell_names import CellNames
from autograder.grading.demonstrations.needless_cells import Demonstrations, RehearsedCell
from grading.demonstrations.programs import handed_in, notebook


def run(cells: list[str], instead: dict[str, str] | None = None) -> list[str]:
    """Return what each cell prints, or the error that ends it. Cells in `instead` are not run."""
    names: dict[str, Any] = {}
    said = []
    for source in cells:
        if instead and source in instead:
            said.append(instead[source])
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(source, names)
            except Exception as error:
                print(type(error).__name__, error)
        said.append(printed.getvalue())
    return said


def demonstrations(cells: list[str]) -> Demonstrations:
    rehearsed = [
        RehearsedCell(source, [{"text": said}], "Error" not in said) for source, said in zip(cells, run(cells))
    ]
    return Demonstrations([rehearsed], {})


def needless(cells: list[str], handed: list[str], asked: frozenset[str] = frozenset()) -> dict[str, str]:
    found = demonstrations(cells).needless(handed, frozenset(), asked)
    return {source: outputs[0]["text"] for source, outputs in found.items()}


@pytest.mark.parametrize("part", range(4))
def test_a_run_without_needless_cells_shows_the_same(part: int) -> None:
    left_out = 0
    for seed in range(part, 1600, 4):
        rng = random.Random(seed)
        released = notebook(rng)
        handed = handed_in(rng, released)
        instead = needless(released, handed)
        left_out += len(instead)
        assert run(handed, instead) == run(handed), (handed, instead)
    assert left_out > 50  # the test would pass with none


def test_a_demonstration_of_its_own_names_is_not_run() -> None:
    released = ["import math", "x = [1.0]\nx.append(2)\nprint(math.fsum(x))", "y = 2", "print(y)"]
    assert needless(released, [*released[:3], "z = 1", released[3]]).keys() == set(released)
    assert needless(released, [*released[:3], "print(y)  # mine"]).keys() == {released[1]} | {released[0]}


@pytest.mark.parametrize(
    "mine", ["print(globals())", "eval('x')", "print(Out)", "_3", "from os import *", "!ls", "x ="]
)
def test_all_cells_are_run_beside_code_that_can_use_any_name(mine: str) -> None:
    released = ["import math", "x = [1.0]\nprint(x)"]
    assert needless(released, [*released, mine]) == {}


@pytest.mark.parametrize(
    "call",
    ["exec('y = 1', {})", "def f(c):\n    names = {'z': 1}\n    exec(c, names)", "print([eval('z', {'z': 1})])"],
)
def test_code_in_a_namespace_of_its_own_uses_no_other_name(call: str) -> None:
    released = ["import math", "x = [1.0]\nprint(x)"]
    assert needless(released, [*released, call]).keys() == {*released}
    assert needless([*released, call], [*released, call, "print(2)"]).keys() == {*released, call}


@pytest.mark.parametrize(
    "call",
    [
        "exec('y = 1', {}, names)",
        "exec('y = 1', globals=names)",
        "exec('y = 1', names)",
        "names = {}\nexec('y = 1', names)",
        "def f(names):\n    names = names or {}\n    exec('y = 1', names)",
        "def f(names):\n    if 1 > 2:\n        names = {}\n    exec('y = 1', names)",
        "def f():\n    global names\n    names = {}\n    exec('y = 1', names)",
        "def f():\n    names = {}\n    def g():\n        exec('y = 1', names)",
        "def f():\n    names = {}\n    from a import names\n    exec('y = 1', names)",
        "exec('y = 1', {})\nrun = exec",
    ],
)
def test_code_in_a_namespace_that_may_be_another_can_use_any_name(call: str) -> None:
    assert CellNames.of(call).dynamic


def test_what_code_in_a_string_may_have_changed_is_run() -> None:
    released = ["import math", "def f(x):\n    return x", "print(getattr(f, 'note', 0))"]
    handed = [*released[:2], "exec('f.note = 1', {'f': f})", released[2]]
    assert needless(released, handed).keys() == {released[0]}
    assert needless(released, [*released[:2], "print(f(2))", released[2]]).keys() == {released[0], released[2]}


def test_what_an_exercise_asks_for_is_run() -> None:
    released = ["import math", "def answer(x):\n    return x", "print(1)"]
    assert needless(released, released, frozenset({"answer"})).keys() == {released[0], released[2]}


def test_a_notebook_in_another_language_or_without_its_first_cell_is_run_whole() -> None:
    assert needless(["start('en')", "print(1)"], ["start('ru')", "print(1)"]) == {}


def test_names_are_told_apart_by_when_they_are_read() -> None:
    names = CellNames.of("x = y\nx += 1\nfor i in x:\n    z = i\ndef f(a):\n    return a + b\nimport numpy as np")
    assert (names.early, names.late) == ({"y"}, {"b"})
    assert (names.always, names.perhaps) == ({"x", "f", "np"}, {"i", "z"})
    assert names.fixed == {"f", "np"}
