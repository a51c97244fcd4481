"""Exercise: write a test for custom operators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError

from autograder.checking.exercise import Aspect, Case, Why, aspect, exercise
from autograder.checking.inputs import Lineup, Programs, signed
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .common import new_name


def _refusal(name: str, en: str, ru: str) -> Aspect:
    return aspect(name, 0.5, en=f"{en} is refused.", ru=f"{ru} отвергается.")


@exercise(
    title=Text("Is the operator right?", "Верен ли оператор?"),
    kind="write the test",
    difficulty=3,
    seconds=30.0,  # `opcheck` of every operator takes 4 s on an idle machine
    aspects=[
        aspect(
            "accepts_right",
            0,
            en="Every right operator is accepted, and not every wrong one.",
            ru="Правильные операторы принимаются все, а неправильные — не все.",
        ),
        _refusal(
            "catches_derivative",
            "An operator with a wrong formula",
            "Оператор с неверной формулой",
        ),
        _refusal(
            "catches_square_formula",
            "An operator whose formula is right for square matrices alone",
            "Оператор, формула которого верна только для квадратных матриц,",
        ),
        _refusal(
            "catches_shape",
            "An operator whose fake is right for square matrices alone",
            "Оператор, фиктивная реализация которого верна только для квадратных матриц,",
        ),
        _refusal(
            "catches_layout",
            "An operator whose fake is right for contiguous matrices alone",
            "Оператор, фиктивная реализация которого верна только для непрерывных в памяти матриц,",
        ),
        _refusal(
            "catches_numpy",
            "An operator whose formula calls NumPy",
            "Оператор, формула которого вызывает NumPy,",
        ),
        _refusal(
            "catches_mutation",
            "An operator that changes its input without saying so",
            "Оператор, который изменяет свой вход и не объявляет этого,",
        ),
    ],
    hints=[
        Text(
            "`opcheck` compares the operator with its fake on the example that it gets. What does the example `x` not "
            "show?",
            "`opcheck` сравнивает оператор с фиктивной реализацией на том примере, который получил. Чего не показывает "
            "пример `x`?",
        ),
        Text(
            "Build examples of your own: one with more columns than rows, one that is transposed. They have to require "
            "grad, else no formula is looked at. The derivative is compared by another function (lesson 05).",
            "Постройте свои примеры: матрицу, в которой столбцов больше, чем строк, и транспонированную. Они должны "
            "требовать градиента, иначе формула не проверяется. Производную сверяет другая функция (урок 05).",
        ),
        Text.same(
            "wide = torch.rand(2, 3, dtype=x.dtype)\nfor example in (wide, wide.t()):\n"
            "    example = example.detach().requires_grad_()\n    opcheck(op, (example,))\n    ..."
        ),
    ],
    why=Why(
        Text(
            "Why does `opcheck` pass a wrong derivative?",
            "Почему `opcheck` пропускает неверную производную?",
        ),
        Text(
            "It compares the operator with itself: run eagerly, and run through fake and tracing. Both use the same "
            "formula. Only finite differences bring a truth from outside.",
            "Эта функция сравнивает оператор с ним же самим: выполненный обычным образом и записанный в граф. В обоих "
            "случаях формула одна и та же. Независимый эталон дают только конечные разности.",
        ),
    ),
)
def is_right_operator(answer: Any, case: Case) -> dict[str, object]:
    def judged(program: Any, right: bool) -> object:
        return _says(answer, program(new_name()), case.x, right)

    with using_answer(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opcheck traces in anomaly mode, which warns of each wrong operator
        accepts, refuses = case.others.tried(judged)
    by_opcheck = ("catches_shape", "catches_layout", "catches_numpy")
    found = {
        "accepted": accepts,
        "sees shapes": all(accepts) and refuses["catches_shape"],
        "asks opcheck": all(accepts) and any(refuses[name] for name in by_opcheck),
    }
    return {"accepts_right": all(accepts) and any(refuses.values()), **refuses, **found}


def _says(answer: Any, op: Any, x: Tensor, right: bool) -> object:
    """Return what the learner's test says of `op`.

    A failed assertion, opcheck or gradcheck is a refusal. On a wrong operator any error is one: a test that is broken
    itself fails on the right ones.
    """
    from torch.testing._internal.optests.generate_tests import OpCheckError  # imports torch._dynamo, which takes 2 s

    try:
        return bool(answer.is_right_operator(op, x.clone()))
    except AnswerRaised as raised:
        if not right or isinstance(raised.__cause__, (AssertionError, GradcheckError, OpCheckError)):
            return False
        raise


@is_right_operator.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(others=Lineup(rng, programs), x=signed(rng, 2, 2))
