"""Exercise: a custom Function that changes its input in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import apply, gradients, result_or_error, same_numbers


@exercise(
    title=Text("In place, and said so", "Изменение на месте, о котором autograd знает"),
    kind="complete",
    asks="ScaleInPlace",
    asks_for="class",
    difficulty=2,
    aspects=[
        aspect(
            "in_place",
            1,
            en="What comes back is the tensor that was handed in, its numbers multiplied by `factor` in place.",
            ru="Возвращается тот самый тензор, который передали; его числа умножены на `factor` на месте.",
        ),
        aspect(
            "gradients",
            2,
            en="Gradients are right whichever name is used afterwards, that of the result or that of the input, and "
            "`backward` leaves `grad_output` as it was.",
            ru="Градиенты верны, какое бы из двух имён ни использовали дальше, имя результата или имя входа; метод "
            "`backward` не меняет `grad_output`.",
        ),
    ],
    hints=[
        Text(
            "How should autograd know that `forward` has changed its input?",
            "Откуда autograd узнает, что `forward` изменил свой вход?",
        ),
        Text(
            "`ctx.mark_dirty(x)` says so. A marked input has to be returned, and it is then the same tensor before and "
            "after.",
            "Об этом сообщает `ctx.mark_dirty(x)`. Отмеченный вход нужно вернуть, тогда вход и результат — один и "
            "тот же тензор.",
        ),
        Text.same("ctx.factor = factor\nctx.mark_dirty(x)\nreturn x...\n\nreturn ..., None"),
    ],
)
def scale_function(answer: Any, case: Case) -> dict[str, object]:
    def scaled() -> tuple[Tensor, Tensor, Any, Any]:
        x = case.x.clone().requires_grad_()
        h = x.neg()
        y = apply(answer.ScaleInPlace, h, case.factor)
        second = apply(answer.ScaleInPlace, (1 - case.x).requires_grad_().neg(), case.factor + 1)
        return x, h, y, second

    with using_answer():
        x, h, y, second = scaled()
        same = {"result is the input": y is h, "input": h.detach().clone(), "result": y, "second result": second}
        v = case.grad_output.clone()
        by_result = result_or_error(lambda: gradients(y, [x], v)[0])
        unchanged = same_numbers(v, case.grad_output)
        x, h, y, same["result after a second call"] = scaled()
        by_input = result_or_error(lambda: gradients(h, [x], case.grad_output.clone())[0])
    found = {"through the result": by_result, "through the input": by_input, "grad_output unchanged": unchanged}
    return {"in_place": same, "gradients": found}


@scale_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 1] = 0.0
    yield Case(x=x, factor=3.0, grad_output=signed(rng, 3, 2).T)
    yield Case(x=signed(rng, 4).float(), factor=-0.25, grad_output=signed(rng, 4).float())
