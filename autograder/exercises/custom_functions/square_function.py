"""Extra exercise: a custom Function whose calls wrongly share state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import apply, apply_custom, gradient_after_edit, gradients, same_numbers


@exercise(
    title=Text("Two calls", "Два вызова"),
    kind="find the bug",
    asks="Square",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "unchanged",
            0,
            en="`forward` leaves its input, and `backward` the tensor `grad_output`, as they were.",
            ru="Метод `forward` не меняет свой вход, а `backward` — тензор `grad_output`.",
        ),
        aspect(
            "two_calls",
            2,
            en="The value is `x**2`. After two calls, `y` of `a` and `z` of `b`, each of the two tensors gets its own "
            "gradient, in whatever order they are computed.",
            ru="Значение — это `x**2`. После двух вызовов, `y` от `a` и `z` от `b`, каждый из двух тензоров получает "
            "свой градиент, в каком бы порядке их ни вычисляли.",
        ),
        aspect(
            "input_edited_before_backward",
            1,
            en="If the input is changed in place before `backward`, torch raises its error about an in-place "
            "operation.",
            ru="Если вход изменён на месте до `backward`, torch сообщает об этом ошибкой.",
        ),
    ],
    hints=[
        Text(
            "How many variables `Square.saved` are there after two calls, and what does it hold?",
            "Сколько всего переменных `Square.saved` после двух вызовов и что там лежит?",
        ),
        Text(
            "Each call of `apply` has a `ctx` of its own. There are two ways to keep something on it; only one is "
            "checked for in-place changes.",
            "У каждого вызова `apply` свой `ctx`. Хранить в нём можно двумя способами, но изменения на месте "
            "проверяются только при одном из них.",
        ),
        Text.same("ctx.save_for_backward(...)\n...\n(x,) = ctx.saved_tensors"),
    ],
)
def square_function(answer: Any, case: Case) -> dict[str, object]:
    found: dict[str, object] = {}
    with using_answer():
        x, v = case.a.clone().requires_grad_(), case.grad_output.clone()
        once = apply_custom(answer.Square, x)
        saved = getattr(once.grad_fn, "saved_tensors", ()) if isinstance(once, Tensor) else ()
        found["value"], found["one call"] = once, gradients(once, [x], v)[0]
        unchanged = {
            "input unchanged": same_numbers(x, case.a),
            "grad_output unchanged": same_numbers(v, case.grad_output),
        }
        if not all(unchanged.values()):
            return {"unchanged": unchanged}
        for order in "y + z", "y, z", "z, y":  # y is the square of a, z that of b
            a, b = (x.clone().requires_grad_() for x in (case.a, case.b))
            y, z = apply(answer.Square, a), apply(answer.Square, b)
            if not isinstance(y, Tensor) or not isinstance(z, Tensor):
                found[order] = y
                continue
            v, of_a, of_b = case.grad_output, f"a.grad ({order})", f"b.grad ({order})"
            if order == "y + z":
                found[of_a], found[of_b] = gradients(y + z, [a, b], v.clone())
            elif order == "y, z":
                found[of_a], found[of_b] = gradients(y, [a], v.clone())[0], gradients(z, [b], v.clone())[0]
            else:
                found[of_b], found[of_a] = gradients(z, [b], v.clone())[0], gradients(y, [a], v.clone())[0]
        edited = gradient_after_edit(answer.Square, case.a, case.grad_output.clone(), edited="input")
    return {
        "unchanged": unchanged,
        "two_calls": found,
        "input_edited_before_backward": edited,
        "by save_for_backward": len(saved) > 0,
    }


@square_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a = signed(rng, 2, 3)
    a[0, 1] = 0.0
    yield Case(a=a, b=signed(rng, 2, 3), grad_output=signed(rng, 3, 2).T)
    yield Case(a=signed(rng, 3).float(), b=signed(rng, 3).float(), grad_output=signed(rng, 3).float())
