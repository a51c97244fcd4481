"""Exercise: Hessian-vector products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import functional

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text

from .common import EXACT, NEAR, TO_ROUNDING, Cost, Function, Watched

_SMALL, _LARGE = 3, 6  # lengths of x for which the cost is counted


@exercise(
    title=Text("H v without H", "H v без H"),
    kind="design",
    core=True,
    difficulty=2,
    rtol=NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `H v`, of shape (n,) and of the dtype of `x`.",
            ru="Возвращается `H v` формы (n,) с тем же dtype, что у `x`.",
        ),
        aspect(
            "exact",
            0.5,
            *TO_ROUNDING,
            measured=ERROR,
        ),
        aspect(
            "passes",
            1,
            en="Calls of `f` and backward passes together are at most 4, whatever n (counted for n = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 4 при любом n (подсчитано для n = 6).",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            1,
            en="No new tensor has more than 4n elements (counted for n = 6).",
            ru="Ни в одном новом тензоре нет больше 4n элементов (подсчитано для n = 6).",
            measured=LARGEST_TENSOR,
        ),
        aspect(
            "operations",
            0.5,
            en="The number of operations does not grow with n (counted: how many more for n = 6 than for n = 3).",
            ru="Число операций не растёт с n (подсчитано, на сколько их больше для n = 6, чем для n = 3).",
            measured=Text("Additional operations", "Лишних операций"),
        ),
    ],
    hints=[
        Text(
            "`H` is the Jacobian of the gradient. Of which function is `H v` a product that you know already?",
            "`H` — матрица Якоби градиента. Для какой функции `H v` — уже знакомое вам произведение?",
        ),
        Text(
            "`H v` is the gradient of the scalar `g @ v`, with `v` held fixed. Does your `g` have a graph?",
            "`H v` — градиент скаляра `g @ v` при неизменном `v`. Есть ли у вашего `g` граф?",
        ),
        Text.same(
            "x = x.detach().requires_grad_()\n(g,) = torch.autograd.grad(f(x), x, create_graph=...)\n(product,) = torch.autograd.grad(..., x)"
        ),
    ],
    why=Why(
        Text(
            "Why is one more backward pass enough for H v, without H?",
            "Почему для H v хватает ещё одного обратного прохода, без самой матрицы H?",
        ),
        Text(
            "The gradient is a function of `x` like any other, and its Jacobian is H. A backward pass from it "
            "with the weights `v` gives vᵀH, which is H v, since H is symmetric.",
            "Градиент — такая же функция от `x`, как любая другая, и его матрица Якоби — это H. Обратный проход "
            "от него с весами `v` даёт vᵀH, то есть H v: матрица H симметрична.",
        ),
    ),
)
def hvp(answer: Any, case: Case) -> dict[str, object]:
    x, v, watched = case.x.clone(), case.v.clone(), Watched(case.f, case.x)
    product = answer.hvp(watched.function, case.x, case.v)
    truth: Any = functional.hvp(case.f, x, v)[1]  # not before: an answer may look for it among all tensors
    with using_answer():
        error = relative_error(truth, product)
    small, large = Cost(), Cost()
    if error < 10 * NEAR:  # the cost of a wrong answer is not counted
        small, large = (Cost(answer.hvp, *counted) for counted in case.counted)
    results = [small.result, large.result]
    return {
        "product": product,
        "exact": limited_error(EXACT, error),
        "passes": AtMost(limit=4, used=large.passes, of=results),
        "largest": AtMost(limit=4 * _LARGE, used=large.largest, of=results),
        "operations": AtMost(limit=0, used=large.ops - small.ops, of=results),
        "many_calls": large.calls >= _LARGE,
        "many_runs": large.runs >= _LARGE,
        "matrix": large.largest >= _LARGE**2,
        "moved": watched.moved,
    }


def _steep_scalar(rng: torch.Generator, n: int) -> Function:
    """Return a random function from R^n to R with a slope around 10000.

    The Hessian depends on x and has no zero entry. No product of its derivatives needs a tensor larger than `x`.
    """
    a, b = uniform(rng, n, n) / n, uniform(rng, n)

    def value(x: Tensor) -> Tensor:
        h = a @ x
        return 10000 * x.sum() + (h.square() * b).sum() + (3 * x * b).sin().sum() + (h.square() * h).sum() / 10

    return Formula("x -> 10000 * x.sum() + ((a @ x)**2 * b).sum() + ...", value)


@hvp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    (f, x, v), *counted = [(_steep_scalar(rng, n), uniform(rng, n), signed(rng, n)) for n in (4, _SMALL, _LARGE)]
    yield Case(f=f, x=x, v=v, counted=counted)
