"""Exercise: Jacobians with many rows or many columns, at low cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import EXACT, NEAR, Cost, Function, Watched

_WIDTH = 32  # numbers in the hidden layer


@exercise(
    title=Text("Tall and wide Jacobians", "Высокие и широкие матрицы Якоби"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "jacobian",
            1.5,
            en="What comes back is the Jacobian, of shape (m, n) and of the dtype of `x`.",
            ru="Возвращается матрица Якоби формы (m, n) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            en="It is exact up to rounding: the error is at most 1e-12 of its largest entry.",
            ru="Матрица верна с точностью до округления: погрешность не больше 1e-12 от наибольшего элемента.",
            measured=ERROR,
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most k + 3, where k is the smaller of m and n.",
            ru="Вызовов `f` и обратных проходов вместе не больше k + 3, где k — меньшее из m и n.",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 64·k elements.",
            ru="Ни в одном новом тензоре нет больше 64·k элементов.",
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "A backward pass gives a row, forward mode gives a column. Which are fewer?",
            "Обратный проход даёт строку, прямой режим — столбец. Чего меньше?",
        ),
        Text(
            "`torch.func` has one function for rows and one for columns. The length of `f(x)` tells which to take.",
            "В `torch.func` есть функция для строк и функция для столбцов. Какую взять, подскажет длина `f(x)`.",
        ),
        Text.same("m, n = len(f(x)), len(x)\nway = torch.func.... if m < n else torch.func....\nreturn way(f)(x)"),
    ],
)
def cheap_jacobian(answer: Any, case: Case) -> dict[str, object]:
    x, watched = case.x.clone(), Watched(case.f, case.x)
    found = answer.cheap_jacobian(watched.function, case.x)
    truth = case.jacobian(x)  # not before: an answer may look for it among all tensors
    with using_answer():
        error = relative_error(truth, found)
    cost = Cost()
    if error < 10 * NEAR:  # the cost of a wrong answer is not counted
        cost = Cost(answer.cheap_jacobian, *case.counted)
    m, n = truth.shape
    return {
        "jacobian": found,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=min(m, n) + 3, used=cost.passes, of=condense(cost.result)),
        "largest": AtMost(limit=2 * _WIDTH * min(m, n), used=cost.largest, of=condense(cost.result)),
        "moved": watched.moved,
        "all_rows": cost.runs >= m,
        "all_columns": cost.calls >= n,
        "twice_as_many": cost.runs >= 2 * n,
    }


def _bottleneck(rng: torch.Generator, n: int, m: int) -> tuple[Formula, Function]:
    """Return a function from R^n to R^m with a hidden layer of 32 numbers, and its Jacobian."""
    into, out_of = signed(rng, _WIDTH, n) / n, signed(rng, m, _WIDTH) / _WIDTH

    def jacobian(x: Tensor) -> Tensor:
        slopes = 1 - (into @ x).tanh().square()
        return out_of @ (slopes[:, None] * into)

    return Formula("x -> b @ (a @ x).tanh(), len(a @ x) = 32", lambda x: out_of @ (into @ x).tanh()), jacobian


@cheap_jacobian.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(9, 19), (9, 4), (1, 4)]:  # neither n nor m alone distinguishes tall from wide
        f, jacobian = _bottleneck(rng, n, m)
        x, fresh = uniform(rng, n), another(rng)
        yield Case(f=f, x=x, jacobian=jacobian, counted=(_bottleneck(fresh, n, m)[0], uniform(fresh, n)))
