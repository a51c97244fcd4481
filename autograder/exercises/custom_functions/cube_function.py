"""Exercise: a custom Function that supports torch.func."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import (
    EACH_CALL,
    apply,
    apply_custom,
    gradients,
    observe_state,
    result_or_error,
    same_numbers,
    second_derivative,
)


@exercise(
    title=Text("At home in torch.func", "Своя функция в torch.func"),
    kind="complete",
    asks="Cube",
    asks_for="class",
    difficulty=3,
    aspects=[
        EACH_CALL,
        aspect(
            "gradient",
            1,
            en="`Cube.apply` has the right value, gradient and second derivative, `torch.func.grad` gives the same gradient, "
            "and `grad_output` stays as it was.",
            ru="У `Cube.apply` верны значение, градиент и вторая производная, `torch.func.grad` даёт тот же "
            "градиент, а `grad_output` не меняется.",
        ),
        aspect(
            "vmap",
            1,
            en="`torch.func.vmap` of the function works, and so does `vmap` of its `grad`.",
            ru="Преобразование `torch.func.vmap` работает и для самой функции, и для её градиента (`vmap` от `grad`).",
        ),
        aspect(
            "jvp",
            2,
            en="Forward mode works: `torch.func.jvp` gives the derivative in the direction of the tangent.",
            ru="Прямой режим работает: `torch.func.jvp` даёт производную по направлению касательного вектора.",
        ),
    ],
    hints=[
        Text(
            "Which of the three errors do you get first, and which method or attribute does its text ask for?",
            "Какую из трёх ошибок вы получаете первой и какой метод или атрибут назван в её тексте?",
        ),
        Text(
            "`forward(x)` without `ctx`, and `setup_context(ctx, inputs, output)` for the saving; `generate_vmap_rule = "
            "True` in the class; `jvp(ctx, tangent)`, which reads what `ctx.save_for_forward(...)` saved.",
            "`forward(x)` без `ctx` и `setup_context(ctx, inputs, output)`, где сохраняют тензоры; "
            "`generate_vmap_rule = True` в теле класса; `jvp(ctx, tangent)` читает то, что сохранил "
            "`ctx.save_for_forward(...)`.",
        ),
        Text.same(
            "def setup_context(ctx, inputs, output):\n    (x,) = inputs\n    ctx.save_for_backward(...)\n    "
            "ctx.save_for_forward(...)\n\ndef jvp(ctx, tangent):\n    (x,) = ctx.saved_tensors\n    return ..."
        ),
    ],
)
def cube_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone(), case.v.clone()
    with using_answer():
        leaf, given = x.clone().requires_grad_(), v.clone()
        y = apply_custom(answer.Cube, leaf)
        gradient = gradients(y, [leaf], given)[0]
        each, second = observe_state(answer.Cube, x.clone().requires_grad_(), v=v, found=[gradient])
        if not all(each.values()):
            return {"each_call": each}
        found: dict[str, object] = {"value": y, "gradient": gradient, **second}
        found["grad_output unchanged"] = same_numbers(given, v)

        def weighted(t: Tensor, weight: Tensor) -> Tensor:
            product: Tensor = (apply(answer.Cube, t) * weight).sum()
            return product

        batched = {"vmap": result_or_error(lambda: torch.func.vmap(answer.Cube.apply)(x))}
        if x.dim() > 1 and isinstance(y, Tensor):  # slow, and one case is enough
            found["torch.func.grad"] = result_or_error(lambda: torch.func.grad(weighted)(x, v))
            found["second derivative"] = result_or_error(lambda: second_derivative(answer.Cube.apply, x, v, v))
            batched["vmap of grad"] = result_or_error(lambda: torch.func.vmap(torch.func.grad(weighted))(x, v))
            batched["vmap, in_dims=1"] = result_or_error(lambda: torch.func.vmap(answer.Cube.apply, in_dims=1)(x))
        forward = result_or_error(lambda: torch.func.jvp(answer.Cube.apply, (x,), (v,))[1])
    return {"each_call": each, "gradient": found, "vmap": batched, "jvp": {"jvp": forward}}


@cube_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=signed(rng, 4).float())
