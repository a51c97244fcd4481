"""Cells that are not run: everything else shows the same as if all had been run."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Sequence
from typing import Any

import pytest

from autograder.grading.demonstrations.cell_names import CellNames
from autograder.grading.demonstrations.needless_cells import Demonstrations, RehearsedCell
from grading.demonstrations.programs import handed_in, notebook


def run(cells: list[str], needless: Sequence[int] = ()) -> list[str]:
    """Return what each cell prints, or the error that ends it. Cells at the places `needless` are not run."""
    names: dict[str, Any] = {}
    said = []
    for place, source in enumerate(cells):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(source if place not in needless else "", names)
            except Exception as error:
                print(type(error).__name__, error)
        said.append(printed.getvalue())
    return said


def needless(released: list[str], handed: list[str], asked: frozenset[str] = frozenset()) -> list[int]:
    rehearsed = [RehearsedCell(source, "Error" not in said) for source, said in zip(released, run(released))]
    return Demonstrations(rehearsed, {}).needless(handed, frozenset(), asked)


@pytest.mark.parametrize("part", range(4))
def test_a_run_without_needless_cells_shows_the_same(part: int) -> None:
    left_out = 0
    for seed in range(part, 1600, 4):
        rng = random.Random(seed)
        released = notebook(rng)
        handed = handed_in(rng, released)
        places = needless(released, handed)
        left_out += len(places)
        all_said = ["" if place in places else said for place, said in enumerate(run(handed))]
        assert run(handed, places) == all_said, (handed, places)
    assert left_out > 50  # the test would pass with none


def test_a_demonstration_of_its_own_names_is_not_run() -> None:
    released = ["import math", "x = [1.0]\nx.append(2)\nprint(math.fsum(x))", "y = 2", "print(y)"]
    assert needless(released, [*released[:3], "z = 1", released[3]]) == [0, 1, 2, 4]
    assert needless(released, [*released[:3], "print(y)  # mine"]) == [0, 1]


def test_a_demonstration_of_the_learners_function_is_not_run() -> None:
    released = ["count = [0]", "def answer(x):\n    pass", "print(answer(2))", "print(count)"]
    plain, counting = "def answer(x):\n    return x", "def answer(x):\n    count[0] += 1\n    return x"
    assert needless(released, [released[0], plain, *released[2:], "print(3)"]) == [0, 2, 3]
    assert needless(released, [released[0], counting, *released[2:], "print(3)"]) == []


@pytest.mark.parametrize(
    "mine",
    [
        "print(globals())",
        "import __main__",
        "import sys; sys.modules[__name__]",
        "eval('x')",
        "print(Out)",
        "_3",
        "from os import *",
        "!ls",
        "x =",
    ],
)
def test_all_cells_are_run_beside_code_that_can_use_any_name(mine: str) -> None:
    released = ["import math", "x = [1.0]\nprint(x)"]
    assert needless(released, [*released, mine]) == []


def test_a_released_cell_runs_code_in_a_dict_of_its_own() -> None:
    call = "def f(c):\n    names = {'z': 1}\n    exec(c, names)"
    assert needless(["x = 2", call], ["x = 2", call, "print(2)"]) == [0, 1]
    assert needless(["x = 2"], ["x = 2", call, "print(2)"]) == []


def test_what_code_in_a_string_may_have_changed_is_run() -> None:
    released = ["def f(x):\n    return x", "exec('f.note = 1', {'f': f})", "print(1)"]
    assert needless(released, [*released, "print(f.note)"]) == [2]


@pytest.mark.parametrize(("default", "is_fixed"), [("-1", True), ("lambda x: x", True), ("[]", False)])
def test_a_function_whose_defaults_cannot_change_has_no_state(default: str, is_fixed: bool) -> None:
    assert CellNames.of(f"def f(x, y={default}):\n    return x").fixed == ({"f"} if is_fixed else set())


@pytest.mark.parametrize("counts", ["type(self).count += 1", "self.__class__.count += 1", "self.count = 1"])
def test_a_class_that_sets_its_own_attributes_has_a_state(counts: str) -> None:
    released = ["class Value:\n    count = 0\n    def __init__(self):\n        " + counts, "Value()", "print(1)"]
    assert needless(released, [*released, "Value().count"]) == ([1, 2] if counts == "self.count = 1" else [2])


def test_what_sets_something_for_all_cells_is_run() -> None:
    released = ["torch.manual_seed(0)", "torch.Generator().manual_seed(0)", "print(1)"]
    cells = [RehearsedCell(source, True) for source in released]
    assert Demonstrations(cells, {"torch": "torch"}).needless(released, frozenset(), frozenset()) == [1, 2]


def test_what_an_exercise_asks_for_is_run() -> None:
    released = ["import math", "def answer(x):\n    return x", "print(1)"]
    assert needless(released, released, frozenset({"answer"})) == [0, 2]


def test_names_are_told_apart_by_when_they_are_read() -> None:
    names = CellNames.of("x = y\nx += 1\nfor i in x:\n    z = i\ndef f(a):\n    return a + b\nimport numpy as np")
    assert (names.early, names.late) == ({"y"}, {"b"})
    assert (names.always, names.perhaps) == ({"x", "f", "np"}, {"i", "z"})
    assert names.fixed == {"f", "np"}
