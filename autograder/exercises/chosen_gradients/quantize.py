"""Exercise: rounding to a grid whose step is trained, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("A grid whose step is trained", "Сетка, шаг которой обучается"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "values",
            1,
            en="The values lie on the grid: the nearest multiple of `step`, at most `levels` steps from 0.",
            ru="Значения лежат на сетке: это ближайшее кратное шага `step`, не дальше `levels` шагов от нуля.",
        ),
        aspect(
            "gradient_x",
            1,
            en="The gradient passes to `x` inside the range and is 0 outside.",
            ru="Внутри диапазона градиент проходит к `x`, а вне его равен 0.",
        ),
        aspect(
            "gradient_step",
            1.5,
            en="The gradient of `step` counts the rounding error inside the range and `levels` outside.",
            ru="В градиент по `step` внутри диапазона входит ошибка округления, а вне его — `levels` со знаком.",
            after=("values",),
        ),
        aspect(
            "rest",
            0.5,
            en="Inputs and their `.grad` are left as they were, and another call changes no gradient of this one.",
            ru="Входы и их `.grad` остаются прежними, а следующий вызов не меняет градиентов этого.",
        ),
    ],
    hints=[
        Text(
            "Measured in steps, `x` is a plain number, the grid is the integers, and the range ends at `levels`. Which "
            "operations are left that have no useful derivative?",
            "Если мерить `x` в шагах, сетка — это целые числа, а диапазон кончается на `levels`. У каких операций тогда "
            "нет полезной производной?",
        ),
        Text(
            "Clip first, round afterwards, and multiply by `step` last. Only the rounding needs the trick: autograd knows "
            "the derivatives of the rest, that of `step` included.",
            "Сначала ограничьте, потом округлите и в конце умножьте на `step`. Приём нужен только для округления: "
            "остальные производные, и производную по `step` тоже, autograd найдёт сам.",
        ),
        Text.same("scaled = (x / step).clamp(...)\nrounded = scaled + (...).detach()\nreturn step * rounded"),
    ],
    why=Why(
        Text(
            "Why does the step get a gradient although the result is a staircase in x?",
            "Почему шаг получает градиент, хотя график результата по x — ступеньки?",
        ),
        Text(
            "The step stretches the whole grid: a value of k steps moves k times as fast. Through the straight-through "
            "path x / step subtracts its own part, and the rounding error is left.",
            "Шаг растягивает всю сетку: значение в k шагов сдвигается в k раз быстрее. Но частное x / step тоже "
            "зависит от шага: при сквозной оценке из k вычитается x / step, и остаётся ошибка округления.",
        ),
    ),
)
def quantize(answer: Any, case: Case) -> dict[str, object]:
    before = [case.x.detach().clone(), case.step.detach().clone()]
    y = answer.quantize(case.x, case.step, case.levels)
    with using_answer():
        gradients = _gradients(y, case)
    again = answer.quantize(case.x, case.step, case.levels)
    other = answer.quantize((case.x.detach() / 2).requires_grad_(), 3 * case.step.detach(), case.levels + 1)
    with using_answer():
        later = _gradients(again, case)  # the graphs of all three are alive
        return {
            "values": y,
            "gradient_x": gradients[0],
            "gradient_step": gradients[1],
            "rest": {
                "x.grad": case.x.grad,
                "step.grad": case.step.grad,
                "x is as before": torch.equal(case.x, before[0]),
                "step is as before": torch.equal(case.step, before[1]),
                "same gradients after another call": all(map(_same, gradients, later)),
                "values of the other call": other,
            },
        }


def _same(a: object, b: object) -> bool:
    return torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else bool(a == b)


def _gradients(y: object, case: Case) -> tuple[object, object]:
    """Return the gradients of `x` and `step` for the cotangent of the case, or a word where there is none."""
    if not isinstance(y, Tensor) or y.shape != case.x.shape:
        return None, None
    found: list[object] = []
    for tensor in (case.x, case.step):
        if tensor.requires_grad and y.requires_grad:
            (gradient,) = torch.autograd.grad(y, tensor, case.v, retain_graph=True, allow_unused=True)
            # the gradient 0 of a mistake is 1e-17 in some answers
            found.append(None if gradient is None else gradient.round(decimals=12))
        else:
            found.append("no graph" if tensor.requires_grad else "not asked for")
    return found[0], found[1]


def _grid_point(rng: torch.Generator, levels: int, step: Tensor, *shape: int) -> Tensor:
    """Return points inside the range, none in the middle between two values of the grid."""
    whole = torch.randint(1 - levels, levels, shape, generator=rng)
    part = torch.rand(shape, generator=rng, dtype=torch.float64) * 0.3 + 0.1
    sign = torch.randint(0, 2, shape, generator=rng) * 2 - 1
    return (whole + sign * part) * step


@quantize.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    step = uniform(rng)
    inside = _grid_point(rng, 3, step, 3)
    # The first is inside and nearest to the last value of the grid, the next two are outside and have the same value.
    beyond = torch.tensor([2.7, 3.3, -3.2, 5.4, -4.8, 0.0], dtype=torch.float64) * step
    x = torch.cat([inside, beyond])
    yield Case(
        x=with_old_gradient(x.requires_grad_()),
        step=with_old_gradient(step.requires_grad_()),
        levels=3,
        v=signed(rng, 9),
    )
    step = uniform(rng)
    x = _grid_point(rng, 4, step, 2, 1, 3) * torch.tensor([1.0, 1.0, 6.0], dtype=torch.float64)
    yield Case(x=x.requires_grad_(), step=step, levels=4, v=signed(rng, 2, 1, 3))
    step = uniform(rng).requires_grad_()
    yield Case(x=_grid_point(rng, 2, step.detach()), step=step, levels=2, v=signed(rng))
