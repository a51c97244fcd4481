"""Exercise: a loss on which a biased estimator passes its test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error
from autograder.language import Text

_GRID = [number / 20 for number in range(1, 20)]  # probabilities at which the sign is looked at
_NEAR = 1e-10  # a distance from 0 and from 1
_DIGITS = 1e-6
_TOLD_APART = 0.1  # a steep root such as b ** (1 / 0.9) still differs by 0.08 from its slope at this distance


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
    aspects=[
        aspect(
            "usable",
            0,
            en="The loss gives a finite number for 0 and for 1, the same at each call, with a finite derivative.",
            ru="Функция потерь при 0 и при 1 даёт конечное число, при каждом вызове одно и то же, с конечной производной.",
        ),
        aspect(
            "differentiated",
            0,
            en="What autograd gives at 0 and at 1 is the derivative of the loss.",
            ru="При 0 и при 1 autograd даёт настоящую производную функции потерь.",
        ),
        aspect(
            "matters",
            0,
            en="The true derivative is not 0: the losses at 0 and at 1 differ.",
            ru="Настоящая производная не равна 0: потери при 0 и при 1 различны.",
            after=("usable", "differentiated"),
        ),
        aspect(
            "hides",
            0.75,
            en="At the given `p` the mean of the straight-through gradient is the true derivative, to six digits.",
            ru="При данном `p` среднее сквозной оценки равно настоящей производной с точностью до шести знаков.",
            after=("usable", "differentiated", "matters"),
        ),
        aspect(
            "misleads",
            2.25,
            en="At another probability the mean and the true derivative have opposite signs.",
            ru="При какой-то другой вероятности у среднего и у настоящей производной разные знаки.",
            after=("usable", "differentiated", "matters", "hides"),
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
        Text.same("def hide_bias(p):\n    return lambda b: b ** (...) - ... * b"),
    ],
)
def hide_bias(answer: Any, case: Case) -> dict[str, object]:
    loss = answer.hide_bias(case.p)
    with using_answer():
        values = [_value(loss, bit) for bit in (0.0, 1.0)]
        slopes = [_slope(loss, bit) for bit in (0.0, 1.0)]
        usable = {
            "values are finite": all(map(math.isfinite, values)),
            "slopes are finite": all(map(math.isfinite, slopes)),
            "same values at each call": values == [_value(loss, bit) for bit in (0.0, 1.0)],
        }
        waiting: dict[str, object] = dict.fromkeys(("differentiated", "matters", "hides", "misleads"), False)
        if not all(usable.values()):
            return {**waiting, "usable": usable}
        true, steepest = values[1] - values[0], max(map(abs, slopes))
        near = [(_value(loss, _NEAR) - values[0]) / _NEAR, (values[1] - _value(loss, 1 - _NEAR)) / _NEAR]
        apart = max(abs(one - other) for one, other in zip(near, slopes)) / (max(steepest, abs(true)) or 1)
        error = limited_error(_TOLD_APART, apart)
        found = {**waiting, "usable": usable, "differentiated": {"relative error of autograd's derivative": error}}
        scale = max(steepest, *map(abs, values))
        found["matters"] = abs(true) > 1e-3 * scale  # else signs and agreement would tell nothing
        if not error.kept:
            return found
        if not found["matters"]:
            return {**found, "no difference": abs(true) <= 1e-9 * scale}
        # By the slopes from above: asked once more, a loss that counts its calls could give others.
        ratios = {p: (p * slopes[1] + (1 - p) * slopes[0]) / true for p in (*_GRID, 0.5, case.p)}
        return {
            **found,
            "hides": {"distance of the mean from the true derivative, relative": _distance(ratios[case.p])},
            "misleads": {
                "smallest mean, in units of the true derivative": AtMost(
                    -_DIGITS, round(min(ratios[p] for p in _GRID), 9)
                )
            },
            "at one half": _distance(ratios[0.5]).kept,
            "no slope": steepest == 0,
            "never wrong": max(abs(slope - true) for slope in slopes) <= _DIGITS * abs(true),
        }


def _distance(ratio: float) -> AtMost:
    return AtMost(_DIGITS, round(abs(ratio - 1), 9))


@hide_bias.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for low in (0.15, 0.6, 0.3):
        yield Case(p=round(low + 0.1 * torch.rand((), generator=rng, dtype=torch.float64).item(), 3))
