"""Exercise: Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR, LARGEST_TENSOR
from autograder.language import Text

from .common import COST_SIZE, NEAR, TO_ROUNDING, observe_jvp, steep


@exercise(
    title=Text("J v without J", "J v без J"),
    kind="design",
    core=True,
    rtol=NEAR,
    aspects=[
        aspect(
            "product",
            2,
            en="What comes back is `J v`, of shape (m,) and of the dtype of `x`.",
            ru="Возвращается `J v` формы (m,) с тем же dtype, что у `x`.",
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
            en="Calls of `f` and backward passes together are at most 3, whatever n and m (counted for n = m = 6).",
            ru="Вызовов `f` и обратных проходов вместе не больше 3 при любых n и m (подсчитано для n = m = 6).",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4·max(n, m) elements (counted for n = m = 6).",
            ru="Ни в одном новом тензоре нет больше 4·max(n, m) элементов (подсчитано для n = m = 6).",
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "`backward` gives `vᵀJ`: rows. Which mode carries a direction *forward* through `f`?",
            "`backward` даёт `vᵀJ`, строки. Какой режим передаёт направление через `f` *вперёд*?",
        ),
        Text(
            "Make a dual tensor of `x` and `v`, call `f`, read the tangent, all inside `dual_level()`. Or look at "
            "`torch.func`.",
            "Сделайте дуальный тензор из `x` и `v`, вызовите `f`, прочтите касательный вектор — всё внутри "
            "`dual_level()`. Или загляните в `torch.func`.",
        ),
        Text.same(
            "with forward_ad.dual_level():\n    y = f(forward_ad.make_dual(x, v))\n    return forward_ad.unpack_dual(...).tangent"
        ),
    ],
    why=Why(
        Text(
            "Why does forward mode get J v in a single run of `f`?",
            "Почему прямому режиму для J v хватает одного вызова `f`?",
        ),
        Text(
            "Each value carries a tangent: how it changes when `x` moves along `v`. Every operation passes on "
            "both, so the tangent of the output is J v, and no matrix is built.",
            "Каждое значение несёт с собой касательный вектор: как оно меняется, когда `x` движется вдоль `v`. "
            "Операции передают дальше и то и другое, поэтому на выходе получается J v, а матрица не строится.",
        ),
    ),
)
def jvp(answer: Any, case: Case) -> dict[str, object]:
    return observe_jvp(answer.jvp, case)


@jvp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(f=steep(rng, 4, 4), x=uniform(rng, 4), v=signed(rng, 4), counted=None)
    n = COST_SIZE
    f, x, v = steep(rng, 2, 5), uniform(rng, 2), signed(rng, 2)
    yield Case(f=f, x=x, v=v, counted=(steep(rng, n, n), uniform(rng, n), signed(rng, n)))
