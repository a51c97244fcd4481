"""Core exercise: a derivative by central differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text

Function = Callable[[Tensor], Tensor]


@exercise(
    title=Text("A derivative from two values", "Производная по двум значениям"),
    kind="complete",
    core=True,
    minutes=6,
    aspects=[
        aspect("x", 0, en="`x` itself was not changed.", ru="Сам `x` не изменён."),
        aspect("dtypes", 0, en="`f` gets float64 tensors.", ru="Функция `f` получает тензоры float64."),
        aspect(
            "slope",
            4,
            en="It is the central difference: the change of `f` from `x - h` to `x + h`, divided by the way between "
            "them.",
            ru="Это центральная разность: изменение `f` от `x - h` до `x + h`, делённое на расстояние между ними.",
            after=("x", "dtypes"),
        ),
    ],
    hints=[
        Text(
            "How far apart are the two places where you look at `f`?",
            "На каком расстоянии друг от друга две точки, в которых вы вычисляете `f`?",
        ),
        Text(
            "Rise over run: the rise is `f(x + h) - f(x - h)`, the run is the distance from `x - h` to `x + h`.",
            "Приращение функции надо разделить на приращение аргумента: первое — `f(x + h) - f(x - h)`, второе — "
            "расстояние от `x - h` до `x + h`.",
        ),
        Text("rise = f(x + h) - f(x - h)\nreturn rise / ...", "rise = f(x + h) - f(x - h)\nreturn rise / ..."),
    ],
)
def numerical_slope(answer: Any, case: Case) -> dict[str, object]:
    x, places, dtypes = case.x.clone(), [], set()

    def watched(point: Tensor) -> Tensor:
        with suppress(AttributeError, ValueError, RuntimeError):  # what is no number fails in `case.f`
            dtypes.add(str(point.dtype))
            places.append(round((point.item() - x.item()) / case.h, 3))
        return case.f(point)  # type: ignore[no-any-return]

    slope = answer.numerical_slope(watched, case.x, case.h)
    unchanged = torch.equal(case.x, x) and case.x._version == 0
    with using_answer():
        return {"x": unchanged, "dtypes": sorted(dtypes), "slope": number(slope), "places": sorted(places)}


@numerical_slope.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b, c, d = (round(number, 2) for number in uniform(rng, 4).tolist())
    rising = Formula(f"{a} * x**3 + {b} * torch.sin(x)", lambda x: a * x**3 + b * torch.sin(x))
    falling = Formula(f"1 - {c} * x**3 - {d} * x", lambda x: 1 - c * x**3 - d * x)
    yield Case(f=rising, x=uniform(rng), h=0.3)
    yield Case(f=falling, x=-uniform(rng), h=0.04)


@numerical_slope.mistake(
    en="`x += h` changed the caller's `x`: it is the same tensor. `x + h` makes a new one.",
    ru="Строка `x += h` изменила тензор `x` вызывающего кода: это тот же тензор. Выражение `x + h` создаёт новый.",
)
def moves_x(f: Function, x: Tensor, h: float) -> Tensor:
    x += h
    right = f(x)
    x -= 2 * h
    return (right - f(x)) / (2 * h)


@numerical_slope.mistake(
    en="The change was divided by `h`. The way from `x - h` to `x + h` is twice as long.",
    ru="Изменение разделено на `h`. Расстояние от `x - h` до `x + h` вдвое больше.",
)
def divides_by_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / h


@numerical_slope.mistake(
    en="It says `/ 2 * h`, which divides by 2 and then multiplies by `h`. The product needs brackets.",
    ru="Написано `/ 2 * h`: это деление на 2, а потом умножение на `h`. Произведение нужно взять в скобки.",
)
def forgets_the_brackets(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / 2 * h


@numerical_slope.mistake(
    en="One of the two places is `x` itself. That is the forward difference: its error is of order h, not h².",
    ru="Одна из двух точек — сама `x`. Это правая разность: её погрешность порядка h, а не h².",
)
def forward_difference(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x)) / h


@numerical_slope.mistake(
    en="One of the two places is `x` itself. That is the backward difference: its error is of order h, not h².",
    ru="Одна из двух точек — сама `x`. Это левая разность: её погрешность порядка h, а не h².",
)
def backward_difference(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x) - f(x - h)) / h


@numerical_slope.mistake(
    en="The change of `f` was not divided by anything.",
    ru="Изменение `f` ни на что не разделено.",
)
def forgets_to_divide(f: Function, x: Tensor, h: float) -> Tensor:
    return f(x + h) - f(x - h)


@numerical_slope.mistake(
    en="The two values were subtracted the wrong way round: the sign is wrong.",
    ru="Значения вычтены в обратном порядке, поэтому знак неверен.",
)
def subtracts_backwards(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x - h) - f(x + h)) / (2 * h)


@numerical_slope.mistake(
    en="The derivative itself came back, not the central difference with this `h`: either autograd computed it, or `h` "
    "was replaced by a smaller step.",
    ru="Возвращена сама производная, а не центральная разность с этим `h`: либо её вычислил autograd, либо `h` заменён "
    "меньшим шагом.",
)
def asks_autograd(f: Function, x: Tensor, h: float) -> Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)[0]


@numerical_slope.mistake(
    en="The step is always 0.01, as in the text. It has to be the `h` that is passed in.",
    ru="Шаг всегда равен 0.01, как в тексте. Нужно взять `h`, который передан в функцию.",
)
def ignores_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + 0.01) - f(x - 0.01)) / 0.02


@numerical_slope.mistake(
    en="The two places are `x + h / 2` and `x - h / 2`: half the step that was asked for.",
    ru="Взяты точки `x + h / 2` и `x - h / 2`, то есть вдвое меньший шаг, чем требуется.",
)
def halves_the_step(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h / 2) - f(x - h / 2)) / h


@numerical_slope.mistake(
    en="Only the second value was divided: a difference that is divided needs brackets.",
    ru="Разделено только второе значение: разность, которую делят, нужно взять в скобки.",
)
def divides_the_second(f: Function, x: Tensor, h: float) -> Tensor:
    return f(x + h) - f(x - h) / (2 * h)


@numerical_slope.mistake(
    en="The derivative of `x**2` came back, whatever `f` is. `f` has to be called.",
    ru="Возвращена производная `x**2`, какой бы ни была `f`. Нужно вызывать `f`.",
)
def ignores_f(f: Function, x: Tensor, h: float) -> Tensor:
    return ((x + h) ** 2 - (x - h) ** 2) / (2 * h)


@numerical_slope.mistake(
    en="`f` got float32 numbers: `torch.tensor` of a Python number, or `.float()`, makes float32. Half of the digits are "
    "lost.",
    ru="Функция `f` получила числа float32: их создаёт `torch.tensor` из числа Python или `.float()`. Половина цифр "
    "теряется.",
)
def in_single_precision(f: Function, x: Tensor, h: float) -> Tensor:
    x = x.float()
    return (f(x + h) - f(x - h)) / (2 * h)


@numerical_slope.mistake(
    en="Two central differences were combined, with `h` and with half of it. That is more accurate, but one difference "
    "with the step `h` was asked for.",
    ru="Объединены две центральные разности: с шагом `h` и с вдвое меньшим. Это точнее, но нужна одна разность, с шагом "
    "`h`.",
)
def combines_two_steps(f: Function, x: Tensor, h: float) -> Tensor:
    def central(step: float) -> Tensor:
        return (f(x + step) - f(x - step)) / (2 * step)

    return (4 * central(h / 2) - central(h)) / 3


@numerical_slope.mistake(
    en="The change was divided by 4h, twice the way from `x - h` to `x + h`.",
    ru="Приращение разделено на 4h, то есть на удвоенное расстояние от `x - h` до `x + h`.",
)
def divides_by_four_h(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / (4 * h)
