"""Exercise: a backward pass that changes its incoming gradient in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import EACH_CALL, apply, apply_custom, gradients, observe_state


@exercise(
    title=Text("Right alone, wrong in a sum", "Верна одна, неверна в сумме"),
    kind="find the bug",
    asks="Leaky",
    asks_for="class",
    difficulty=2,
    aspects=[
        EACH_CALL,
        aspect(
            "derivative",
            0.5,
            en="Value and gradient are those of `leaky_relu`.",
            ru="Значение и градиент те же, что у `leaky_relu`.",
        ),
        aspect(
            "others",
            2.5,
            en="`grad_output` holds the same numbers after `backward`, and so another operation that gets the same tensor computes a right "
            "gradient.",
            ru="После `backward` в `grad_output` те же числа, и другая операция, получившая тот же тензор, "
            "вычисляет верный градиент.",
        ),
    ],
    hints=[
        Text(
            "Which tensor does the line with `*=` change, and which other operations read it?",
            "Какой тензор меняется в строке с `*=` и какие ещё операции его читают?",
        ),
        Text(
            "`g = grad_output` and `grad_output.detach()` are the same memory under another name. A new tensor comes "
            "from `clone()`, `torch.where` or a multiplication.",
            "`g = grad_output` и `grad_output.detach()` — та же память под другим именем. Новый тензор дают `clone()`, "
            "`torch.where` и умножение.",
        ),
        Text(
            "grad_input = ...  # a tensor of your own\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
            "grad_input = ...  # собственный тензор\ngrad_input[x < 0] *= ctx.slope\nreturn grad_input, None",
        ),
    ],
)
def leaky_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    neighbour = case.neighbour.clone().requires_grad_()
    with using_answer():
        y = apply_custom(answer.Leaky, x, case.slope)
        gradient = gradients(y, [x], v)[0]
        start = case.x.clone().requires_grad_()
        each, second = observe_state(answer.Leaky, start, case.slope, v=case.grad_output, found=[gradient])
        first = {"value": y, "gradient": gradient, **second}
        # The newest node runs first and gets the same tensor as `exp` after it. Without `x` in the list of inputs,
        # autograd would skip the node.
        both = neighbour.exp() + apply(answer.Leaky, x, case.slope)
        beside, own = gradients(both, [neighbour, x], case.grad_output.clone())
    others = {"grad_output": v, "neighbour.grad": beside, "x.grad": own}
    return {"each_call": each, "derivative": first, "others": others}


@leaky_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 3)
    x[0, 0], x[1, 2] = -1.5, 0.75
    yield Case(x=x, slope=0.25, neighbour=uniform(rng, 2, 3), grad_output=signed(rng, 2, 3))
    x = torch.tensor([-0.5, 2.0, -3.0, 1.0])
    yield Case(x=x, slope=0.0, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())
    yield Case(x=x, slope=1.5, neighbour=uniform(rng, 4).float(), grad_output=signed(rng, 4).float())
