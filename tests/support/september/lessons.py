"""Three short lessons of an instructor's own, one of them too strict, and answers with known points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from support import first_gradient
from support.exercises import write_exercises
from support.submissions import Submission, points

FIRST, TOTAL, SLOPE, NORM = ASSIGNMENTS = ("00_first_gradient", "20_total", "30_slope", "40_norm")
FORMULAS = {TOTAL: "(x * x).sum()", SLOPE: "2 * x.max()", NORM: "x.abs().sum()"}
MENDED = TOTAL  # its exercise first refuses a plain number, and accepts it when it was mended
EXERCISE = "total"
_MARK = "the mark of this copy"

_LESSON = '''\
# %% [markdown] tags=["en"]
# # A lesson of our own
# %% [markdown] tags=["ru"]
# # Наш собственный урок
# %% tags=["en"]
from autograder import start

start("NAME", language="en")
# %% tags=["ru"]
from autograder import start

start("NAME", language="ru")
# %%
import torch
# %% answer="NAME"
def NAME(x):
    """A number that is made of `x`."""
    ### BEGIN SOLUTION
    return FORMULA
    ### END SOLUTION
# %% check="NAME"
from autograder import check

check("NAME")
'''

_MODULE = """\
import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text


@exercise(
    title=Text("A number", "Число"),
    kind="complete",
    core=True,
    aspects=[
        aspect("form", 1, en="It is a tensor.", ru="Это тензор."),
        aspect("value", 3, en="It has the right value.", ru="Значение верно."),
    ],
    hints=[Text("One?", "Раз?"), Text("Two?", "Два?"), Text("return ...", "return ...")],
)
def NAME(answer, case):
    found = answer.NAME(case.x)
    return {"value": float(found), "form": isinstance(found, KINDS)}


@NAME.cases
def _(rng):
    yield Case(x=torch.rand(3, generator=rng, dtype=torch.float64) + 1)
"""

_MISTAKES = """\
# %% mistake="turns_the_sign" theme="derivative"
# The sign is wrong.
# Знак неверен.
def NAME(x):
    return -FORMULA
"""


def write_lesson(folder: Path, assignment: str, *, mended: bool) -> None:
    """Write a lesson's source and its exercise into a course folder."""
    name = assignment.partition("_")[2]
    kinds = "(torch.Tensor, float)" if mended else "torch.Tensor"
    lesson, module, mistakes = (
        text.replace("NAME", name).replace("FORMULA", FORMULAS[assignment]).replace("KINDS", kinds)
        for text in (_LESSON, _MODULE, _MISTAKES)
    )
    (folder / "lessons" / f"{assignment}.py").write_text(lesson, encoding="utf-8")
    write_exercises(folder, name, {name: module}, {name: mistakes})


def catalogue() -> dict[str, dict[str, dict[str, str]]]:
    """Return the answers by assignment and kind, as programs by exercise."""
    found: dict[str, dict[str, dict[str, str]]] = {
        FIRST: {
            "solved": first_gradient.SOLVED,
            "one wrong": {**first_gradient.SOLVED, first_gradient.FIRST.name: first_gradient.WRONG},
            "one only": {first_gradient.FIRST.name: first_gradient.SOLVED[first_gradient.FIRST.name]},
            "blank": {},
        }
    }
    for assignment, formula in FORMULAS.items():
        name = assignment.partition("_")[2]
        results = {"solved": formula, "number": f"float({formula})", "wrong": f"{formula} + 1"}
        found[assignment] = {kind: {name: f"def {name}(x):\n    return {each}"} for kind, each in results.items()}
        found[assignment]["blank"] = {}
    return found


def worth(*, mended: bool) -> dict[str, dict[str, float]]:
    """Return the points of every answer: those of our lessons by hand, of the course's by its own judge, once."""
    plain = {"solved": 4.0, "number": 0.0, "wrong": 1.0, "blank": 0.0}
    found = {assignment: dict(plain) for assignment in FORMULAS}
    if mended:
        found[MENDED]["number"] = 4.0
    found[FIRST] = {kind: _judged(answers) for kind, answers in catalogue()[FIRST].items()}
    return found


def _judged(answers: dict[str, str]) -> float:
    total = 0.0
    for name, source in answers.items():
        namespace: dict[str, Any] = {}
        exec("import torch\nfrom torch.nn.functional import binary_cross_entropy_with_logits as bce", namespace)
        exec(source, namespace)
        total += points(first_gradient.EXERCISES[name], namespace)
    return total


class Copies:
    """Notebooks with answers. Each copy has a mark, by which its page of feedback is known."""

    def __init__(self, blank: dict[str, NotebookNode]) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        for assignment, kinds in catalogue().items():
            for kind, answers in kinds.items():
                made = Submission("x", "en", answers).notebook(blank[assignment])
                first = next(c for c in made.cells if c.metadata.get("nbgrader", {}).get("solution"))
                first.source += f"\n# {_MARK}"
                self._texts[assignment, kind] = json.dumps(made, ensure_ascii=False)

    def write(self, assignment: str, kind: str, mark: str) -> bytes:
        return self._texts[assignment, kind].replace(_MARK, mark).encode()
