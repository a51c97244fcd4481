"""Exercise: the Jacobian, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, with_old_gradient
from autograder.checking.labels import ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import limited_error, relative_error
from autograder.language import Text

from .common import EXACT, EXACT_ROWS, curved


@exercise(
    title=Text("The Jacobian, row by row", "Матрица Якоби по строкам"),
    kind="complete",
    aspects=[
        aspect(
            "jacobian",
            1.5,
            en="Row i is the gradient of `y[i]`: a tensor of shape (m, n) and of the dtype of `x`.",
            ru="Строка i — градиент `y[i]`; возвращается тензор формы (m, n) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            *EXACT_ROWS,
            measured=ERROR,
        ),
        aspect(
            "grad",
            1,
            en="`x.grad` holds what it held before: the same tensor, or still `None`.",
            ru="В `x.grad` лежит то же, что и раньше: прежний тензор или по-прежнему `None`.",
        ),
    ],
    hints=[
        Text(
            "Which `v` makes `vᵀJ` the first row of `J`? And the second?",
            "При каком `v` произведение `vᵀJ` — первая строка `J`? А вторая?",
        ),
        Text(
            "One call of `torch.autograd.grad` for each output. The graph is needed again after each but the last.",
            "Один вызов `torch.autograd.grad` на каждый выход. После каждого, кроме последнего, граф ещё понадобится.",
        ),
        Text.same("rows = [torch.autograd.grad(y[i], x, ...)[0] for i in range(len(y))]\nreturn torch.stack(rows)"),
    ],
    why=Why(
        Text(
            "Why does a backward pass give a row of the Jacobian, not a column?",
            "Почему обратный проход даёт строку матрицы Якоби, а не столбец?",
        ),
        Text(
            "A pass starts with a weight for each output and returns a number for each input. With weight 1 for "
            "one output and 0 for the others, that is one row.",
            "Проход начинается с весов выходов и возвращает по числу на каждый вход. Если у одного выхода вес 1, "
            "а у остальных 0, получается одна строка.",
        ),
    ),
)
def jacobian_rows(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.detach().clone()
    found = answer.jacobian_rows(case.y, case.x)
    truth = torch.func.jacrev(case.f)(x)  # not before: an answer may look for it among all tensors
    with using_answer():
        exact = limited_error(EXACT, relative_error(truth, found))
    return {"jacobian": found, "exact": exact, "grad": {"x.grad": case.x.grad}}


@jacobian_rows.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m, old in [(3, 2, False), (2, 4, True), (3, 1, True)]:
        x = leaf(rng, n)
        f = curved(rng, n, m)
        yield Case(y=f(x), x=with_old_gradient(x) if old else x, f=f)
