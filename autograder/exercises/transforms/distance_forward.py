"""Exercise: the forward derivative of a Function with one output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
from torch.func import jvp

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import require_function, result_or_error


@exercise(
    title=Text("A derivative forward", "Производная в прямом режиме"),
    kind="complete",
    asks="Distance",
    asks_for="class",
    core=True,
    aspects=[
        aspect(
            "plain",
            0,
            en="Value and gradients are right, as they were.",
            ru="Значение и градиенты по-прежнему верны.",
        ),
        aspect(
            "x_moves",
            1,
            en="Forward mode is right if `x` alone has a tangent.",
            ru="Прямой режим верен, если касательный вектор есть только у `x`.",
        ),
        aspect(
            "y_moves",
            1,
            en="Forward mode is right if `y` has a tangent, alone or together with `x`.",
            ru="Прямой режим верен, если касательный вектор есть у `y`: только у этой точки или ещё и у `x`.",
        ),
    ],
    hints=[
        Text(
            "What happens to the distance if both points move alike? What if only `x` moves, straight away from `y`?",
            "Что будет с расстоянием, если обе точки сдвинутся одинаково? А если сдвинется только `x`, прямо прочь от `y`?",
        ),
        Text(
            "The difference `x - y` moves by `dx - dy`. `backward` shows the derivative of the distance by each entry of "
            "the difference: multiply each by the movement of its entry. What does one output ask for then?",
            "Разность `x - y` сдвигается на `dx - dy`. В `backward` видны производные расстояния по элементам разности: "
            "умножьте каждую на сдвиг этого элемента. Что остаётся сделать, чтобы выход был один?",
        ),
        Text.same(
            "@staticmethod\n"
            "def jvp(ctx, dx, dy):\n"
            "    x, y, distance = ctx.saved_tensors\n"
            "    return ((x - y) * (...)).sum() / ..."
        ),
    ],
    why=Why(
        Text(
            "Why does `backward` return two values here, and `jvp` one?",
            "Почему `backward` возвращает здесь два значения, а `jvp` — одно?",
        ),
        Text(
            "`backward` sends one gradient apart to the inputs. `jvp` brings the movements of all inputs together: an "
            "output moves by their sum.",
            "`backward` разводит один градиент по входам. А `jvp` сводит вместе вклады всех входов: выход сдвигается "
            "на их сумму.",
        ),
    ),
)
def distance_forward(answer: Any, case: Case) -> dict[str, object]:
    function = answer.Distance
    require_function(function)
    x, y, dx, dy = case.x, case.y, case.dx, case.dy
    apply = function.apply
    with using_answer(), _counted(function) as returned:

        def tangent(call: Callable[[], Any]) -> Any:
            returned.clear()
            result = result_or_error(call)
            inside = isinstance(result, Caught) and not returned  # else torch refuses what came back
            return replace(result, text=f"{result.text}: inside jvp") if inside else result

        leaves = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        distance = apply(*leaves)
        _ = call_with_other_numbers(distance, apply, *leaves)
        plain = {"value": distance, "gradients": list(torch.autograd.grad(2 * distance, leaves))}
        x_moves = {"tangent for x": tangent(lambda: jvp(lambda x: apply(x, y), (x,), (dx,))[1])}
        y_moves = {
            "tangent for y": tangent(lambda: jvp(lambda y: apply(x, y), (y,), (dy,))[1]),
            "jvp": tangent(lambda: list(jvp(apply, (x, y), (dx, dy)))),
        }
    return {"plain": plain, "x_moves": x_moves, "y_moves": y_moves}


@contextmanager
def _counted(function: Any) -> Iterator[list[int]]:
    """Yield a list that grows by each call of the `jvp` of a class that returns, in the `with` block."""
    returned: list[int] = []
    own = function.jvp

    def counted(*arguments: Any) -> Any:
        result = own(*arguments)
        returned.append(1)
        return result

    with patch.object(function, "jvp", staticmethod(counted)):
        yield returned


@distance_forward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape, move_alike in (((3,), False), ((2, 3), False), ((4,), True)):
        x, y, dx, dy = (signed(rng, *shape) for _ in range(4))
        yield Case(x=x, y=y, dx=dx, dy=dx.clone() if move_alike else dy)
