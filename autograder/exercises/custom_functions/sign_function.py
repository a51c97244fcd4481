"""Extra exercise: a sign function with a surrogate gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import EACH_CALL, observe_first


@exercise(
    title=Text("A sign that lets the gradient through", "Знак, который пропускает градиент"),
    kind="complete",
    asks="Sign",
    asks_for="class",
    difficulty=1,
    minutes=6,
    aspects=[
        EACH_CALL,
        aspect(
            "surrogate",
            2,
            en="The value is the sign, and the gradient is `grad_output` where `x` lies in [−1, 1] and 0 elsewhere.",
            ru="Значение — знак числа, а градиент равен `grad_output` там, где `x` лежит на отрезке [−1, 1], а в "
            "остальных точках — нулю.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="Метод `backward` не меняет тензор `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "The derivative of the sign is 0. What does the text say stands in its place, and for which `x`?",
            "Производная знака равна 0. Что, по условию, стоит вместо неё и при каких `x`?",
        ),
        Text(
            "`backward` needs `x` to know where it lies. `x.abs() <= 1` is a mask.",
            "Чтобы знать, где лежит `x`, `backward` должен его получить. `x.abs() <= 1` — маска.",
        ),
        Text.same("ctx.save_for_backward(x)\nreturn x.sign()\n\n(x,) = ctx.saved_tensors\nreturn grad_output * ..."),
    ],
)
def sign_function(answer: Any, case: Case) -> dict[str, object]:
    return observe_first(answer.Sign, case, "surrogate")


@sign_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[0] = torch.tensor([0.5, -0.25, 1.0, -1.0], dtype=torch.float64)
    x[1, 0], x[1, 1], x[1, 2] = 0.0, 1.75, -2.25
    v = signed(rng, 4, 3).T
    v[0] = torch.tensor([0.75, -1.25, 2.0, -0.5], dtype=torch.float64)
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([-0.5, 3.0, 0.75]), grad_output=signed(rng, 3).float())
