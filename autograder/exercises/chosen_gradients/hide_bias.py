"""Extra exercise: a loss on which a biased estimator passes its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

_GRID = [number / 20 for number in range(1, 20)]  # probabilities at which the sign is looked at


def _mean_of_straight_through(loss: Callable[[Tensor], Tensor], p: float) -> float:
    return p * _slope(loss, 1.0) + (1 - p) * _slope(loss, 0.0)


def _slope(loss: Callable[[Tensor], Tensor], bit: float) -> float:
    b = torch.tensor(bit, dtype=torch.float64, requires_grad=True)
    value = loss(b)
    if not value.requires_grad:
        return 0.0
    (slope,) = torch.autograd.grad(value, b, allow_unused=True)
    return 0.0 if slope is None else slope.item()


def _value(loss: Callable[[Tensor], Tensor], bit: float) -> float:
    return float(loss(torch.tensor(bit, dtype=torch.float64)))


@exercise(
    title=Text("A test that sees no bias", "Проверка, которая не видит смещения"),
    kind="write the counter-example",
    difficulty=2,
    minutes=13,
    aspects=[
        aspect(
            "usable",
            0,
            en="The loss gives a finite number for 0 and for 1, the same at each call, with a finite derivative.",
            ru="Функция потерь при 0 и при 1 даёт конечное число, при каждом вызове одно и то же, с конечной производной.",
        ),
        aspect(
            "matters",
            0,
            en="The true derivative is not 0: the losses at 0 and at 1 differ.",
            ru="Настоящая производная не равна 0: потери при 0 и при 1 различны.",
            after=("usable",),
        ),
        aspect(
            "hides",
            1.5,
            en="At the given `p` the mean of the straight-through gradient is the true derivative, to six digits.",
            ru="При данном `p` среднее сквозной оценки равно настоящей производной с точностью до шести знаков.",
            after=("usable", "matters"),
        ),
        aspect(
            "misleads",
            1.5,
            en="At another probability the mean and the true derivative have opposite signs.",
            ru="При какой-то другой вероятности у среднего и у настоящей производной разные знаки.",
            after=("usable", "matters"),
        ),
    ],
    hints=[
        Text(
            "The mean of the straight-through gradient holds two slopes, at 0 and at 1. The true derivative holds two "
            "values. Which functions let you choose all four?",
            "В среднее сквозной оценки входят два наклона, в точках 0 и 1. В настоящую производную — два значения. Какие "
            "функции позволяют выбрать все четыре числа?",
        ),
        Text(
            "A power $b^k$ with $k > 1$ has the slopes 0 and $k$, and its values differ by 1. Where does it hide the bias? "
            "A multiple of $b$ changes both sides alike.",
            "У степени $b^k$ при $k > 1$ наклоны 0 и $k$, а значения различаются на 1. Где она скрывает смещение? Слагаемое, "
            "пропорциональное $b$, меняет обе производные одинаково.",
        ),
        Text.same("return lambda b: b ** (...) - ... * b"),
    ],
)
def hide_bias(answer: Any, case: Case) -> dict[str, object]:
    loss = answer.hide_bias(case.p)
    seen: dict[str, object] = {"usable": False, "matters": False, "hides": False, "misleads": False}
    with using_answer():
        values = [_value(loss, bit) for bit in (0.0, 1.0)]
        slopes = [_slope(loss, bit) for bit in (0.0, 1.0)]
        again = [_value(loss, bit) for bit in (0.0, 1.0)]
        numbers = torch.tensor(values + slopes)
        if values != again or not numbers.isfinite().all():
            return seen
        true, there = values[1] - values[0], _mean_of_straight_through(loss, case.p)
        scale = max(map(abs, values + slopes))
        if abs(true) <= 1e-3 * scale:  # signs and agreement would tell nothing
            return {**seen, "usable": True, "no difference": abs(true) <= 1e-9 * scale}
        signs = [_mean_of_straight_through(loss, p) * true < 0 for p in _GRID]
        return {
            "usable": True,
            "matters": True,
            "hides": abs(there - true) <= 1e-6 * abs(true),
            "misleads": any(signs),
            "at one half": abs(_mean_of_straight_through(loss, 0.5) - true) <= 1e-6 * abs(true),
            "no slope": slopes == [0.0, 0.0],
            "never wrong": max(abs(slope - true) for slope in slopes) <= 1e-6 * abs(true),
        }


@hide_bias.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for low in (0.15, 0.6, 0.3):
        yield Case(p=round(low + 0.1 * torch.rand((), generator=rng, dtype=torch.float64).item(), 3))
