"""Exercise: a derivative by central differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text


@exercise(
    title=Text("A derivative from two values", "Производная из двух значений функции"),
    kind="complete",
    core=True,
    aspects=[
        aspect("x", 0, en="`x` itself was not changed.", ru="Сам `x` не изменён."),
        aspect("dtypes", 0, en="`f` gets float64 tensors.", ru="Функция `f` получает тензоры float64."),
        aspect(
            "slope",
            4,
            en="It is the central difference: the change of `f` from `x - h` to `x + h`, divided by the way between "
            "them.",
            ru="Это центральная разность: приращение `f` от `x - h` до `x + h`, делённое на расстояние между ними.",
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
        Text.same("rise = f(x + h) - f(x - h)\nreturn rise / ..."),
    ],
    why=Why(
        Text(
            "Why is the central difference exact for a parabola, and the forward difference not?",
            "Почему центральная разность точна для параболы, а односторонняя — нет?",
        ),
        Text(
            "What the parabola's bend adds at `x + h` it adds at `x - h` too, so the subtraction cancels it. To "
            "one side of `x` nothing cancels it.",
            "Изгиб параболы прибавляет к значениям в `x + h` и в `x - h` одно и то же, и при вычитании это "
            "сокращается. По одну сторону от `x` сократиться нечему.",
        ),
    ),
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
