"""Lessons of the old form, in which exercise modules registered mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.cli import main

COMMON = """
from __future__ import annotations

import torch
from torch import Tensor

from autograder.checking.exercise import Case, EVERY_ENTRY, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

HINTS = [Text("a", "\u0430"), Text("b", "\u0431"), Text("c", "\u0432")]
"""
MODULE = (
    COMMON
    + """
FACTOR = 2.0


def power(x: Tensor, n: int = 2) -> Tensor:  # only a mistake uses it
    return x**n


@exercise(title=Text("Twice", "\u0412\u0434\u0432\u043e\u0435"), kind="complete", minutes=1, hints=HINTS,
          aspects=[aspect("value", 1, en="V", ru="V")])
def twice(answer, case):
    return {"value": answer.twice(case.x), "factor": FACTOR}


@twice.cases
def cases(rng):
    yield Case(x=torch.rand(3, generator=rng, dtype=torch.float64))


@twice.mistake(en="Squared.", ru="\u041a\u0432\u0430\u0434\u0440\u0430\u0442.")
def squares(
    x: Tensor,
) -> Tensor:
    y: Tensor = power(x)  # kept
    return y


@twice.mistake(*twice.mistakes["squares"].says)
def cubes(x):
    return power(x, 3)


@exercise(title=Text("Class", "\u041a\u043b\u0430\u0441\u0441"), kind="complete", minutes=1, hints=HINTS, asks="Double",
          asks_for="class", aspects=[aspect("value", 1, en="V", ru="V")])
def double(answer, case):
    with using_answer():
        return {"value": answer.Double.apply(case.x)}


@double.cases
def _(rng):
    yield Case(x=torch.rand(3, generator=rng, dtype=torch.float64))


@double.mistake(en="Halved.", ru="\u041f\u043e\u043f\u043e\u043b\u0430\u043c.")
class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x / FACTOR


@exercise(title=Text("Table", "\u0422\u0430\u0431\u043b\u0438\u0446\u0430"), kind="predict", minutes=1, hints=HINTS,
          aspects=[EVERY_ENTRY])
def predict(answer, case):
    return {"table": answer.predict}


predict.wrong("adds", {"x.grad": 2.0 + 3.0}, en="Added.", ru="\u0421\u043b\u043e\u0436\u0435\u043d\u043e.")
"""
)
LESSON = """# %% [markdown] tags=["en"] reading=1
# # Old
# %% [markdown] tags=["ru"]
# # \u0421\u0442\u0430\u0440\u044b\u0439
# %% answer="twice"
def twice(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
# %% alternative="twice"
def twice(x): return x + x
# %% alternative="twice"
def twice(x): return x * 2.0
# %% alternative="twice"
def twice(x): return x - -x
# %% check="twice"
from autograder import check
check("twice")
# %%
import torch
# %% answer="double"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        return 4 * x
        ### END SOLUTION
# %% alternative="double"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 4
# %% alternative="double"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 3 * x
# %% alternative="double"
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x - -x
# %% check="double"
check("double")
# %% answer="predict"
predict = {"x.grad": 6.0}
# %% given="predict"
predict = {"x.grad": None}
# %% check="predict"
check("predict")
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for folder, name, text in (("lessons", "20_old.py", LESSON), ("exercises", "old.py", MODULE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_converted_lesson_passes_the_gate(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--accept", "old", "--course", str(course)]) == 1
    assert "`autograder convert DIR`" in capsys.readouterr().err
    assert main(["convert", str(course)]) == 0
    assert main(["build", "--course", str(course)]) == 0
    assert main(["verify", "--course", str(course), "--trials=1"]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "✓ twice: passed, 2/2 mistakes, 3 alternatives" in said
    assert "✓ double: passed, 1/1 mistakes, 3 alternatives" in said
    assert "✓ predict: passed, 1/1 mistakes" in said
    assert main(["convert", str(course)]) == 0
    assert capsys.readouterr().out.count("wrote") == 0


def test_what_only_mistakes_use_goes_with_them(course: Path) -> None:
    assert main(["convert", str(course)]) == 0
    package = course / "exercises" / "old"
    assert not (course / "exercises" / "old.py").exists()
    left = (package / "common.py").read_text(encoding="utf-8")
    assert "power" not in left
    assert "mistake" not in left
    assert "FACTOR = 2.0" in left
    assert (
        (package / "mistakes" / "twice.py").read_text(encoding="utf-8")
        == """\
# %%
def power(x, n=2):  # only a mistake uses it
    return x**n

# %% mistake="squares" theme="own"
# Squared.
# \u041a\u0432\u0430\u0434\u0440\u0430\u0442.
def twice(x):
    y = power(x)  # kept
    return y

# %% mistake="cubes" like="squares"
def twice(x):
    return power(x, 3)
"""
    )
    assert "from ..common import FACTOR" in (package / "mistakes" / "double.py").read_text(encoding="utf-8")
    assert '{**solution, "x.grad": 2.0 + 3.0}' in (package / "mistakes" / "predict.py").read_text(encoding="utf-8")


def test_students_do_not_go_on_receiving_the_old_form(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside = course / "source" / "20_old" / "exercises"
    built = [course / "exercises" / "keys" / "old.json", beside / "old.py", beside / "keys" / "old.json"]
    for path in built:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    assert main(["convert", str(course)]) == 0
    assert not any(path.exists() for path in built)
    assert capsys.readouterr().out.count("deleted") == len(built)


def test_a_lesson_that_cannot_be_imported_is_named(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "exercises" / "old.py").write_text("import no_such_module\n", encoding="utf-8")
    assert main(["convert", str(course)]) == 1
    assert "ModuleNotFoundError: No module named 'no_such_module'" in capsys.readouterr().err
