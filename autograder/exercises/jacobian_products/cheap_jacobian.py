"""Extra exercise: Jacobians with many rows or many columns, at low cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import EXACT, LOSES_DIGITS, NEAR, Cost, Function, Watched, columns_by_differences, tracked

_WIDTH = 32  # numbers in the hidden layer


@exercise(
    title=Text("Tall and wide Jacobians", "Высокие и широкие матрицы Якоби"),
    kind="design",
    difficulty=3,
    minutes=12,
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
            ru="Она точна до округления: погрешность не больше 1e-12 от наибольшего элемента.",
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
        Text(
            "m, n = len(f(x)), len(x)\nway = torch.func.... if m < n else torch.func....\nreturn way(f)(x)",
            "m, n = len(f(x)), len(x)\nway = torch.func.... if m < n else torch.func....\nreturn way(f)(x)",
        ),
    ],
)
def cheap_jacobian(answer: Any, case: Case) -> dict[str, object]:
    truth = case.f.jacobian(case.x)
    watched = Watched(case.f, case.x)
    found = answer.cheap_jacobian(watched, case.x)
    with using_answer():
        error = relative_error(truth, found)
    cost = Cost()
    if error < 10 * NEAR:  # the cost of a wrong answer is not counted
        cost = Cost(lambda counted: answer.cheap_jacobian(counted, case.x), case.f)
    m, n = truth.shape
    return {
        "jacobian": found,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=min(m, n) + 3, used=cost.passes),
        "largest": AtMost(limit=2 * _WIDTH * min(m, n), used=cost.largest),
        "moved": watched.moved,
        "all_rows": cost.runs >= m,
        "all_columns": cost.calls >= n,
        "twice_as_many": cost.runs >= 2 * n,
    }


class Bottleneck(Formula):
    """A function of a vector, with a hidden layer of 32 numbers.

    `into` and `out_of` are the matrices before and after that layer.
    """

    def __init__(self, into: Tensor, out_of: Tensor) -> None:
        super().__init__("x -> b @ (a @ x).tanh(), len(a @ x) = 32", lambda x: out_of @ (into @ x).tanh())
        self.into, self.out_of = into, out_of

    def jacobian(self, x: Tensor) -> Tensor:
        slopes = 1 - (self.into @ x).tanh().square()
        return self.out_of @ (slopes[:, None] * self.into)


@cheap_jacobian.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(9, 19), (9, 4), (1, 4)]:  # neither n nor m alone distinguishes tall from wide
        into, out_of = signed(rng, _WIDTH, n) / n, signed(rng, m, _WIDTH) / _WIDTH
        yield Case(f=Bottleneck(into, out_of), x=uniform(rng, n))


@cheap_jacobian.mistake(
    en="A tall matrix was computed row by row too, with a backward pass for each output. It has fewer columns than "
    "rows.",
    ru="Высокая матрица тоже вычисляется по строкам, с обратным проходом на каждый выход. Столбцов у неё меньше, чем "
    "строк.",
)
def always_rows(f: Function, x: Tensor) -> object:
    return functional.jacobian(f, x)


@cheap_jacobian.mistake(
    en="For a tall matrix too, all rows are computed at once, as `jacrev` does: a batch of m vectors.",
    ru="И у высокой матрицы вычисляются сразу все строки, как в `jacrev`: это батч из m векторов.",
)
def always_jacrev(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x)


@cheap_jacobian.mistake(
    en="For a wide matrix too, all columns are computed at once, as `jacfwd` does: n tangents at once.",
    ru="И у широкой матрицы вычисляются сразу все столбцы, как в `jacfwd`: это n касательных векторов сразу.",
)
def always_jacfwd(f: Function, x: Tensor) -> object:
    return torch.func.jacfwd(f)(x)


@cheap_jacobian.mistake(
    en="A wide matrix was computed column by column too, with a call of `f` for each input. It has fewer rows than "
    "columns.",
    ru="Широкая матрица тоже вычисляется по столбцам, с вызовом `f` на каждый вход. Строк у неё меньше, чем столбцов.",
)
def always_columns(f: Function, x: Tensor) -> object:
    units = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (unit,))[1] for unit in units], dim=1)


@cheap_jacobian.mistake(
    en="The choice is the wrong way round: columns where rows are few, rows where columns are few.",
    ru="Выбор сделан наоборот: столбцы там, где мало строк, и строки там, где мало столбцов.",
)
def the_other_way_round(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x) if len(f(x)) > len(x) else torch.func.jacfwd(f)(x)


@cheap_jacobian.mistake(
    en="The choice is the wrong way round: a pass for each column where rows are few, for each row where columns are "
    "few.",
    ru="Выбор сделан наоборот: проход на каждый столбец там, где мало строк, и на каждую строку там, где мало "
    "столбцов.",
)
def loops_the_wrong_way(f: Function, x: Tensor) -> object:
    return always_rows(f, x) if len(f(x)) > len(x) else always_columns(f, x)


@cheap_jacobian.mistake(
    en="Columns are computed where they are few, but each takes two backward passes: `functional.jvp` does not use "
    "forward mode.",
    ru="Столбцы вычисляются там, где их мало, но на каждый уходит два обратных прохода: `functional.jvp` не использует "
    "прямой режим.",
)
def columns_by_two_passes(f: Function, x: Tensor) -> object:
    if len(f(x)) < len(x):
        return functional.jacobian(f, x)
    return torch.stack([functional.jvp(f, x, unit)[1] for unit in torch.eye(len(x), dtype=x.dtype)], dim=1)


@cheap_jacobian.mistake(
    en="`f` was called at other points than `x`: finite differences lose a third of the digits or more.",
    ru="Функция `f` вызвана не только в точке `x`: при конечных разностях теряется треть знаков или больше.",
)
def by_differences(f: Function, x: Tensor) -> Tensor:
    return columns_by_differences(f, x, 1e-5)


@cheap_jacobian.mistake(
    en="A tall matrix comes back transposed: its columns were stacked as rows.",
    ru="Высокая матрица возвращается транспонированной: её столбцы записаны строками.",
)
def columns_stacked_as_rows(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T


@cheap_jacobian.mistake(
    en="The transposed matrix came back.",
    ru="Возвращена транспонированная матрица.",
)
def tall_for_wide(f: Function, x: Tensor) -> object:
    return torch.func.jacrev(f)(x).T if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T


def _rows_or_columns(f: Function, x: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else torch.func.jacfwd(f)(x)  # type: ignore[no-any-return]


@cheap_jacobian.mistake(*cheap_jacobian.mistakes["by_differences"].says)
def differences_for_columns(f: Function, x: Tensor) -> Tensor:
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else columns_by_differences(f, x, 1e-7, back=False)  # type: ignore[no-any-return]


@cheap_jacobian.mistake(*cheap_jacobian.mistakes["columns_by_two_passes"].says)
def columns_by_two_passes_beside_jacrev(f: Function, x: Tensor) -> object:
    if len(f(x)) < len(x):
        return torch.func.jacrev(f)(x)
    return torch.stack([functional.jvp(f, x, unit)[1] for unit in torch.eye(len(x), dtype=x.dtype)], dim=1)


@cheap_jacobian.mistake(
    en="`f` is called again for each row. One call is enough: its graph serves all rows.",
    ru="Функция `f` вызывается заново для каждой строки. Достаточно одного вызова: его граф годится для всех строк.",
)
def calls_for_each_row(f: Function, x: Tensor) -> Tensor:
    if len(f(x)) >= len(x):
        return _rows_or_columns(f, x)
    x = tracked(x)
    return torch.stack([torch.autograd.grad(f(x)[i], x)[0] for i in range(len(f(x)))])


@cheap_jacobian.mistake(
    en="The result has the dtype float32, as a tensor from `torch.zeros(m, n)` has it: half of its digits are lost.",
    ru="У результата dtype float32, как у тензора из `torch.zeros(m, n)`: половина знаков потеряна.",
)
def result_in_float32(f: Function, x: Tensor) -> Tensor:
    return _rows_or_columns(f, x).float()


@cheap_jacobian.mistake(*LOSES_DIGITS)
def through_float32(f: Function, x: Tensor) -> Tensor:
    return _rows_or_columns(f, x).float().to(x.dtype)
