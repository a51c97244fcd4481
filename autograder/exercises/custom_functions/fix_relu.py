"""Exercise: the gradient of ReLU at zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.devices.device_run import gradients_there, works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import EACH_CALL, observe_first


@exercise(
    title=Text("A ReLU like torch's", "ReLU как в torch"),
    kind="find the bug",
    asks="ReLU",
    asks_for="class",
    difficulty=1,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            1.5,
            en="Value and gradient agree with those of `torch.relu` for every number, 0 among them, and for every "
            "`grad_output`.",
            ru="Значение и градиент те же, что у `torch.relu`, при любых числах, в том числе в нуле, и при любом "
            "`grad_output`.",
        ),
        aspect(
            "grad_output_after",
            1,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="Метод `backward` не меняет тензор `grad_output`.",
            after=("each_call", "derivative"),
        ),
        works_on(
            0.5,
            after=(
                "each_call",
                "derivative",
            ),
        ),
    ],
    hints=[
        Text(
            "For which numbers do this class and `torch.relu` disagree? Random inputs hardly ever contain that one.",
            "На каком числе этот класс и `torch.relu` расходятся? Среди случайных входов такого числа почти не бывает.",
        ),
        Text(
            "Compare both on `torch.tensor([-1.0, 0.0, 2.0])`. The missing `@` is a slip, and it changes nothing.",
            "Сравните обе функции на `torch.tensor([-1.0, 0.0, 2.0])`. Пропущенный `@` — описка, она ни на что не "
            "влияет.",
        ),
        Text.same("grad_input = grad_output.clone()\ngrad_input[input ... 0] = 0\nreturn grad_input"),
    ],
    why=Why(
        Text(
            "Why does `gradcheck` not find the difference between `<` and `<=` here?",
            "Почему `gradcheck` не видит здесь разницы между `<` и `<=`?",
        ),
        Text(
            "The two differ at 0 alone, and random numbers are hardly ever 0. At 0 itself the central difference "
            "gives one half, which fits neither of them.",
            "Они различаются только в нуле, а случайные числа почти никогда не равны нулю. В самом нуле "
            "центральная разность даёт 1/2, и это не подходит ни к тому, ни к другому.",
        ),
    ),
)
def fix_relu(answer: Any, case: Case) -> dict[str, object]:
    return observe_first(answer.ReLU, case, "derivative")


@fix_relu.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    y = answer.ReLU.apply(x := case.x.requires_grad_())
    return {"y": y, "gradient": gradients_there(y, [x], case.grad_output)}


@fix_relu.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 3, 4)
    x[1, 2] = x[2, 0] = 0.0
    x[0, 0], x[0, 1] = 1.5, -1.5
    v = signed(rng, 4, 3).T
    x[2, 1:] = torch.tensor([100.0, 1e-30, -1e-30])
    # the sign of `x` does not determine the sign of its gradient
    v[0, 0], v[0, 1], v[1, 2], v[2, 0] = -0.75, 1.25, 1.75, -1.5
    yield Case(x=x, grad_output=v)
    yield Case(x=torch.tensor([0.0, -2.0, 0.5]), grad_output=signed(rng, 3).float())
    yield Case(x=torch.tensor(0.0, dtype=torch.float64), grad_output=signed(rng))
