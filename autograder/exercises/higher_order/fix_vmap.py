"""Exercise: a loss that `vmap` refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.func import grad, vmap

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("A loss that `vmap` refuses", "Функция потерь, которую `vmap` отказывается выполнять"),
    kind="find the bug",
    difficulty=2,
    rtol=1e-9,
    aspects=[
        aspect(
            "values",
            1,
            en="The value is right, for one sample and under `vmap`.",
            ru="Значение верно и для одного примера, и внутри `vmap`.",
        ),
        aspect(
            "gradients",
            2,
            en="The gradient with respect to `w` is right for each sample, also where $r_i$ is 0, almost 0 or negative.",
            ru="Градиент по `w` верен для каждого примера, в том числе там, где $r_i$ равно нулю, почти равно нулю или "
            "отрицательно.",
        ),
    ],
    hints=[
        Text(
            "Which lines ask for a number while `vmap` has many samples at once? Which line writes into a tensor that "
            "`vmap` knows nothing of?",
            "В каких строках нужно одно число, хотя примеров у `vmap` сразу много? В какой строке запись идёт в тензор, "
            "о котором `vmap` ничего не знает?",
        ),
        Text(
            "`torch.where` computes both branches for every entry. What is the derivative of a root at 0, or at a "
            "negative number, and what is 0 times that?",
            "Функция `torch.where` вычисляет обе ветви для каждого элемента. Чему равна производная корня в нуле или в "
            "отрицательном числе, и что получится, если умножить её на 0?",
        ),
        Text(
            "inside = torch.where(r > 0, r, 1.0)  # a safe number where the root is not wanted\n"
            "total = torch.where(r > 0, inside.sqrt(), ...).sum()\n"
            "return torch.where(total > 2, ..., total)",
            "inside = torch.where(r > 0, r, 1.0)  # безопасное число там, где корень не нужен\n"
            "total = torch.where(r > 0, inside.sqrt(), ...).sum()\n"
            "return torch.where(total > 2, ..., total)",
        ),
    ],
)
def fix_vmap(answer: Any, case: Case) -> dict[str, object]:
    function = answer.fix_vmap
    one = function(case.w, case.x[0])
    with using_answer():
        all_samples = vmap(function, in_dims=(None, 0))(case.w, case.x)
        gradients = vmap(grad(function), in_dims=(None, 0))(case.w, case.x)
    return {"values": {"one sample": one, "under vmap": all_samples}, "gradients": gradients}


@fix_vmap.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for samples, entries in [(5, 4), (3, 2)]:
        x = signed(rng, samples, entries)
        x[0], x[1] = x[0].abs() + 0.5, -x[1].abs()  # above the limit, and negative throughout
        x[-1, 0] = 0.0
        w = signed(rng, entries).abs()
        if entries == 4:
            w[1], w[2], w[3] = 0.0, 1.5, 2.5
            x[0, 3], x[2, 2] = 2.0, 1e-12  # at 2.5 * 2 even one root is above the limit
        yield Case(w=w, x=x)
