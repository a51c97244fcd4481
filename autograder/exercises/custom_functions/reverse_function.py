"""Exercise: a custom Function that reverses its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import EACH_CALL, apply, gradients, observe_state, result_or_error, same_numbers


@exercise(
    title=Text("Gradient reversal", "Обращение градиента"),
    kind="complete",
    asks="Reverse",
    asks_for="class",
    difficulty=2,
    aspects=[
        EACH_CALL,
        aspect(
            "reversed",
            2,
            en="The value is that of `x`, the gradient of `x` is `grad_output` times `-factor`, and `grad_output` itself "
            "stays as it was.",
            ru="Значение то же, что у `x`, градиент по `x` равен `grad_output`, умноженному на `-factor`, а сам тензор "
            "`grad_output` не меняется.",
        ),
        aspect(
            "result_edited",
            1,
            en="The result can be changed in place, and `x` does not change with it.",
            ru="Результат можно изменить на месте, и на `x` это не влияет.",
        ),
    ],
    hints=[
        Text(
            "`apply` gets two arguments. How many entries does `backward` return, and which of them is no gradient?",
            "`apply` получает два аргумента. Сколько значений возвращает `backward`, и какое из них — не градиент?",
        ),
        Text(
            "A number goes onto `ctx` as an attribute. An input returned as it is becomes a view, and torch refuses to "
            "change that in place; a copy is no view.",
            "Число записывают в атрибут `ctx`. Вход, возвращённый как есть, становится представлением, и менять его на "
            "месте torch не даёт; копия — не представление.",
        ),
        Text.same("ctx.factor = factor\nreturn x.clone()\n\nreturn ..., None"),
    ],
)
def reverse_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    with using_answer():
        y = apply(answer.Reverse, x, case.factor)
        gradient = gradients(y, [x], v)[0]
        start = case.x.clone().requires_grad_()
        each, second = observe_state(answer.Reverse, start, case.factor, v=case.grad_output, found=[gradient])
        found: dict[str, object] = {"value": y, "gradient": gradient, **second}
        found["grad_output unchanged"] = same_numbers(v, case.grad_output)
        result = after_change = None
        if isinstance(y, Tensor):
            h = case.x.clone().requires_grad_().neg()
            again = apply(answer.Reverse, h, case.factor)
            result = result_or_error(lambda: again.mul_(3))
            after_change = h
    return {"each_call": each, "reversed": found, "result_edited": {"result": result, "x": after_change}}


@reverse_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), factor=0.25, grad_output=signed(rng, 3, 2).T)
    yield Case(x=signed(rng, 4).float(), factor=-3, grad_output=signed(rng, 4).float())
