"""Exercise: Jacobian-vector products by backward passes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.language import Text

from .common import COST_SIZE, NEAR, Function, cube_without_jvp, observe_jvp, steep
from .jvp import jvp


@exercise(
    title=Text("J v by backward passes alone", "J v одними обратными проходами"),
    kind="complete",
    difficulty=2,
    rtol=NEAR,
    aspects=[
        aspect("product", 1.5, *jvp.aspects[0].says),
        aspect(
            "exact",
            0.5,
            *jvp.aspects[1].says,
            measured=ERROR,
        ),
        aspect(
            "passes",
            0.5,
            *jvp.aspects[2].says,
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0.5,
            *jvp.aspects[3].says,
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "`torch.autograd.grad(y, x, u)` gives `uᵀJ`. What does it give as a function of `u`, and what is its "
            "Jacobian?",
            "`torch.autograd.grad(y, x, u)` даёт `uᵀJ`. Какая это функция от `u` и какова её матрица Якоби?",
        ),
        Text(
            "Two calls of `torch.autograd.grad`: the first with a `u` that requires grad, the second differentiates by "
            "`u`.",
            "Два вызова `torch.autograd.grad`: первый — с `u`, который требует градиента, второй дифференцирует по "
            "`u`.",
        ),
        Text.same(
            "y = f(x)\nu = torch.zeros_like(..., requires_grad=True)\n"
            "(g,) = torch.autograd.grad(y, x, u, create_graph=...)\n..."
        ),
    ],
    why=Why(
        Text(
            "Why do two backward passes give `J v`, whatever `u` is?",
            "Почему два обратных прохода дают `J v`, каким бы ни был `u`?",
        ),
        Text(
            "The first gives `uᵀJ`, which is linear in `u`: its Jacobian with respect to `u` is `Jᵀ`, without `u`. The "
            "second pass gives `vᵀJᵀ`, and that is `J v`.",
            "Первый даёт `uᵀJ`. Это линейная функция от `u`, и её матрица Якоби по `u` равна `Jᵀ`: самого `u` в ней "
            "нет. Второй проход даёт `vᵀJᵀ`, а это и есть `J v`.",
        ),
    ),
)
def jvp_by_backward(answer: Any, case: Case) -> dict[str, object]:
    return observe_jvp(answer.jvp_by_backward, case)


def _cubic(rng: torch.Generator, n: int, m: int) -> Function:
    """Return a random function from R^n to R^m that does not support forward mode."""
    a, f = uniform(rng, m, n) / n, steep(rng, n, m)
    return Formula("x -> Cube.apply(a @ x) + ...", lambda x: cube_without_jvp(a @ x) + f(x))


@jvp_by_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(f=_cubic(rng, 4, 4), x=uniform(rng, 4), v=signed(rng, 4), counted=None)
    n = COST_SIZE
    f, x, v = _cubic(rng, 2, 5), uniform(rng, 2), signed(rng, 2)
    yield Case(f=f, x=x, v=v, counted=(_cubic(rng, n, n), uniform(rng, n), signed(rng, n)))
