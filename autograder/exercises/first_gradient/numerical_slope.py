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
    title=Text("A derivative from two values", "Производная из двух значений функции"),
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
    edited = case.x._version > 0 or not torch.equal(case.x, x)
    with using_answer():
        return {
            "x": {"changed in place": edited},
            "dtypes": {"dtypes that f got": ", ".join(sorted(dtypes)) or None},
            "slope": number(slope),
            "places": sorted(places),
        }


@numerical_slope.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b, c, d = (round(number, 2) for number in uniform(rng, 4).tolist())
    rising = Formula(f"{a} * x**3 + {b} * torch.sin(x)", lambda x: a * x**3 + b * torch.sin(x))
    falling = Formula(f"1 - {c} * x**3 - {d} * x", lambda x: 1 - c * x**3 - d * x)
    yield Case(f=rising, x=uniform(rng), h=0.3)
    yield Case(f=falling, x=-uniform(rng), h=0.04)


@numerical_slope.mistake(
    en="The caller's tensor `x` was changed in place, as `x += h` does, also under another name. `x + h` makes a new "
    "tensor.",
    ru="Тензор `x` вызывающего кода изменён на месте: так действует `x += h`, в том числе под другим именем. Выражение "
    "`x + h` создаёт новый тензор.",
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
    en="The change was divided by 2 and multiplied by `h`. Both belong in the divisor: `/ (2 * h)`.",
    ru="Изменение разделено на 2, но умножено на `h`. В знаменателе должно стоять и то и другое: `/ (2 * h)`.",
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
    en="`f` is not called on any tensor, so what comes back does not depend on it.",
    ru="Функция `f` не вызвана ни для какого тензора, и результат от неё не зависит.",
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


@numerical_slope.mistake(
    en="`f` got a Python number: `item()` takes it out of the tensor. `f` is a function of a tensor.",
    ru="Функция `f` получила число Python: его извлекает из тензора `item()`. А `f` — функция от тензора.",
)
def passes_a_number(f: Function, x: Tensor, h: float) -> Tensor:
    place: Any = x.item()
    return (f(place + h) - f(place - h)) / (2 * h)


@numerical_slope.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def returns_nothing(f: Function, x: Tensor, h: float) -> None:
    forward_difference(f, x, h)


@numerical_slope.mistake(
    en="The change was divided by 2 alone. The distance from `x - h` to `x + h` is `2 * h`.",
    ru="Изменение разделено только на 2. Но расстояние от `x - h` до `x + h` равно `2 * h`.",
)
def divides_by_two(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / 2


@numerical_slope.mistake(
    en="The change was divided by `2 * h**2`. The step belongs in the divisor once.",
    ru="Изменение разделено на `2 * h**2`. В знаменателе шаг должен стоять один раз.",
)
def divides_by_the_square(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x - h)) / (2 * h**2)


@numerical_slope.mistake(
    en="One of the two places is `x` itself, and the divisor is `2 * h`. The other place has to be `x - h`.",
    ru="Одна из двух точек — сама `x`, а разделено на `2 * h`. Второй точкой должна быть `x - h`.",
)
def forward_over_two_steps(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - f(x)) / (2 * h)


@numerical_slope.mistake(
    en="The places are `x + 2 * h` and `x - 2 * h`, twice as far apart as the divisor `2 * h` says.",
    ru="Взяты точки `x + 2 * h` и `x - 2 * h`. Расстояние между ними вдвое больше, чем знаменатель `2 * h`.",
)
def doubles_the_step(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + 2 * h) - f(x - 2 * h)) / (2 * h)


@numerical_slope.mistake(
    en="The places are `x + h / 2` and `x - h / 2`, and the divisor is `2 * h`. Asked for are the places `x + h` and "
    "`x - h`.",
    ru="Взяты точки `x + h / 2` и `x - h / 2`, а разделено на `2 * h`. Нужны точки `x + h` и `x - h`.",
)
def halves_the_places(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h / 2) - f(x - h / 2)) / (2 * h)


@numerical_slope.mistake(
    en="The two values were added. The change of `f` is their difference.",
    ru="Два значения сложены. Изменение `f` — это их разность.",
)
def adds_the_values(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) + f(x - h)) / (2 * h)


@numerical_slope.mistake(
    en="The sign was lost: where `f` falls, the derivative is negative.",
    ru="Потерян знак: там, где `f` убывает, производная отрицательна.",
)
def takes_the_magnitude(f: Function, x: Tensor, h: float) -> Tensor:
    return abs(f(x + h) - f(x - h)) / (2 * h)


@numerical_slope.mistake(
    en="This is the difference for the second derivative, from three values. Asked for is the first derivative.",
    ru="Это разность для второй производной, по трём значениям. Нужна первая производная.",
)
def takes_the_second_difference(f: Function, x: Tensor, h: float) -> Tensor:
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2
