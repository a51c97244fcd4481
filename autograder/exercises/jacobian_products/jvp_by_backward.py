"""Extra exercise: Jacobian-vector products by backward passes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, functional

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.language import Text

from .common import NEAR, Function, cube_without_jvp, neighbour_products, observe_jvp, steep, tracked
from .jvp import (
    all_rows_first,
    by_x_with_ones,
    by_x_with_zeros,
    cotangent_like_the_input,
    finite_differences,
    gradient_times_v,
    jvp,
    matrix_from_the_left,
    no_graph_to_go_on,
    one_whole_step,
    other_product,
    result_in_float32,
    sum_of_the_product,
    through_float32,
    untracked_cotangent,
    wasted_calls,
)


@exercise(
    title=Text("J v by backward passes alone", "J v одними обратными проходами"),
    kind="complete",
    difficulty=2,
    minutes=10,
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
        Text(
            "y = f(x)\nu = torch.zeros_like(..., requires_grad=True)\n"
            "(g,) = torch.autograd.grad(y, x, u, create_graph=...)\n...",
            "y = f(x)\nu = torch.zeros_like(..., requires_grad=True)\n"
            "(g,) = torch.autograd.grad(y, x, u, create_graph=...)\n...",
        ),
    ],
)
def jvp_by_backward(answer: Any, case: Case) -> dict[str, object]:
    return observe_jvp(answer.jvp_by_backward, case, lambda x: cube_without_jvp(neighbour_products(x)))


def _cubic(rng: torch.Generator, n: int, m: int) -> Function:
    """Return a random function from R^n to R^m that does not support forward mode."""
    a, f = uniform(rng, m, n) / n, steep(rng, n, m)
    return Formula("x -> Cube.apply(a @ x) + ...", lambda x: cube_without_jvp(a @ x) + f(x))


@jvp_by_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, m in [(4, 4), (2, 5)]:
        yield Case(f=_cubic(rng, n, m), x=uniform(rng, n), v=signed(rng, n))


for program in (
    other_product,
    one_whole_step,
    matrix_from_the_left,
    gradient_times_v,
    sum_of_the_product,
    no_graph_to_go_on,
    untracked_cotangent,
    by_x_with_zeros,
    by_x_with_ones,
    cotangent_like_the_input,
    finite_differences,
    all_rows_first,
    wasted_calls,
    result_in_float32,
    through_float32,
):
    jvp_by_backward.mistake(*jvp.mistakes[program.__name__].says)(program)


@jvp_by_backward.mistake(
    en="The whole pair was returned, value and product. Only the product is asked for.",
    ru="Возвращена вся пара, значение и произведение, а нужно только произведение.",
)
def returns_value_and_jvp(f: Function, x: Tensor, v: Tensor) -> object:
    return functional.jvp(f, x, v)


@jvp_by_backward.mistake(
    en="Forward mode was used on a function that has none.",
    ru="Прямой режим применён к функции, у которой его нет.",
)
def asks_for_forward_mode(f: Function, x: Tensor, v: Tensor) -> object:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent


@jvp_by_backward.mistake(
    en="`torch.func` was used: it refuses a custom `Function` that is not written for it.",
    ru="Использован модуль `torch.func`: он принимает пользовательскую `Function`, только если она написана для него.",
)
def asks_torch_func(f: Function, x: Tensor, v: Tensor) -> object:
    return torch.func.jvp(f, (x,), (v,))[1]


@jvp_by_backward.mistake(
    en="The value `f(x)` was returned, not the product.",
    ru="Возвращено значение `f(x)`, а не произведение.",
)
def value_alone(f: Function, x: Tensor, v: Tensor) -> Tensor:
    return f(x)


@jvp_by_backward.mistake(
    en="The whole matrix was built in one batched pass. It is one pass, but of many vectors at once.",
    ru="Вся матрица построена за один проход по батчу. Проход один, но в нём сразу много векторов.",
)
def all_rows_in_one_pass(f: Function, x: Tensor, v: Tensor) -> Tensor:
    x = tracked(x)
    y = f(x)
    (matrix,) = torch.autograd.grad(y, x, torch.eye(len(y), dtype=y.dtype), is_grads_batched=True)
    return matrix @ v
