"""Exercise: write a wrong gradient that gradcheck accepts."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import gradcheck

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Function, tracked

_STEPS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 16 * torch.finfo(torch.float64).eps)  # parts of an entry of `x`


_CLOSE = 1e-2


@dataclass
class _Entry:
    """The derivative of a function by one entry, from differences.

    `smooth` is True if the sides agree at some step, and `broken` if they settle at different values, as at a kink or a
    jump. If both are False, differences measure nothing. `error` is the uncertainty of `slope`.
    """

    slope: float
    error: float
    smooth: bool
    broken: bool


@dataclass
class _Slopes:
    """The gradient of `f(x).sum()` by differences.

    `finite` is False if a value beside `x` is no finite number. The other fields sum up those of `_Entry`.
    """

    gradient: Tensor
    error: float
    smooth: bool
    broken: bool
    finite: bool


def _close(a: float, b: float, tolerance: float = _CLOSE) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _entry(value: Callable[[float], float], at: float) -> _Entry | None:
    """Measure the derivative of `value` at the number `at`, with the step that fits its scale best.

    A long step misses a fast change, a short one leaves rounding. Returns None if a value is no finite number at every
    step.
    """
    here, scale, found = value(at), abs(at) or 1.0, []
    for part in _STEPS:
        right, left = at + part * scale, at - part * scale
        above, below = value(right), value(left)
        after, before = (above - here) / (right - at), (here - below) / (at - left)  # the steps as they were rounded
        if math.isfinite(after + before):
            noise = 4 * torch.finfo(torch.float64).eps * max(map(abs, (here, above, below))) / (right - at)
            found.append((after, before, noise, right - at))
    if not found:
        return None
    best = min(range(len(found)), key=lambda k: _spread(*found[k][:3]))
    after, before, noise, _ = found[best]
    middles = [(a + b) / 2 for a, b, *_ in found]
    beside = middles[max(0, best - 1) : best] + middles[best + 1 : best + 2]
    agree = _spread(after, before, noise) <= _CLOSE and any(_close(middles[best], m, 0.1) for m in beside)
    vanish = max(map(abs, found[-1][:2])) <= _CLOSE * max(map(abs, found[0][:2]))  # both go to 0 with the step
    broken = any(all(_settles(*side) for side in _sides(*pair)) for pair in itertools.pairwise(found))
    slope = middles[best] if agree else middles[-1]
    return _Entry(slope, abs(after - before) + noise if agree else 0.0, agree or vanish, broken)


def _spread(after: float, before: float, noise: float) -> float:
    """Return how far two slopes are apart, their rounding included, as a part of the larger one."""
    largest = max(abs(after), abs(before))
    return (abs(after - before) + noise) / largest if largest else 0.0


def _sides(long: tuple[float, ...], short: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """Return for each side the slopes of a longer and a shorter step, and the ratio of the steps."""
    return [(long[side], short[side], long[3] / short[3]) for side in (0, 1)]


def _settles(long: float, short: float, ratio: float) -> bool:
    """Return whether a slope stays as the step becomes shorter, or grows as it does beside a jump."""
    return _close(long, short) or _close(long * ratio, short)


def _slopes(f: Function, x: Tensor) -> _Slopes:
    """Measure the gradient of `f(x).sum()` at `x`.

    `f` gets points that require grad, as autograd's own point does.
    """
    flat = x.detach().flatten()
    unknown = _Slopes(torch.full_like(x, math.nan), 0.0, False, False, False)

    def value_at(index: int, number: float) -> float:
        moved = flat.clone()
        moved[index] = number
        return float(f(tracked(moved.reshape(x.shape))).sum().detach())

    if not flat.isfinite().all() or not math.isfinite(value_at(0, flat[0].item())):
        return unknown
    entries = []
    for index, number in enumerate(flat.tolist()):
        entry = _entry(functools.partial(value_at, index), number)
        if entry is None:
            return unknown
        entries.append(entry)
    return _Slopes(
        gradient=torch.tensor([entry.slope for entry in entries], dtype=torch.float64).reshape(x.shape),
        error=max(entry.error for entry in entries),
        smooth=all(entry.smooth for entry in entries),
        broken=all(entry.smooth or entry.broken for entry in entries),
        finite=True,
    )


def _is_wrong(gradient: Tensor, slopes: _Slopes) -> bool:
    """Return whether `gradient` is off by more than 1 % of the largest entry, or no number."""
    away = (gradient - slopes.gradient).abs().max().item()
    return not away <= 0.01 * slopes.gradient.abs().max().item() + 2 * slopes.error  # NaN is wrong as well


@exercise(
    title=Text("Where gradcheck is blind", "Чего не видит gradcheck"),
    kind="write the counter-example",
    difficulty=2,
    aspects=[
        aspect(
            "points",
            0,
            en="Both points are in float64 and have 1 to 100 entries.",
            ru="Обе точки в float64, и в каждой от 1 до 100 элементов.",
        ),
        aspect(
            "passes",
            0.5,
            en="`gradcheck(f, (x,))` passes.",
            ru="Проверка `gradcheck(f, (x,))` проходит.",
        ),
        aspect(
            "smooth",
            0.5,
            en="At `elsewhere` the values of `f` are the same at each call and have a derivative: differences to both "
            "sides agree as the step becomes shorter.",
            ru="В точке `elsewhere` значения `f` при каждом вызове одни и те же, и у них есть производная: разности в обе "
            "стороны согласуются, когда шаг уменьшается.",
        ),
        aspect(
            "wrong",
            1,
            en="At `elsewhere` autograd gives a gradient, and it is wrong by more than 1 %, or no number.",
            ru="В точке `elsewhere` autograd даёт градиент, и он отличается от верного больше чем на 1 % или не является "
            "числом.",
            after=("passes", "smooth"),
        ),
    ],
    hints=[
        Text(
            "`gradcheck` calls `f` near `x`, and nowhere else. What may `f` do at other points?",
            "Проверка `gradcheck` вызывает `f` около `x` и больше нигде. Что может `f` делать в других точках?",
        ),
        Text(
            "The values of `x * x.detach()` are squares; the gradient is only half of a square's.",
            "Значения `x * x.detach()` — квадрат, а градиент — лишь половина его производной.",
        ),
        Text.same(
            "def f(x):\n    return torch.where(x > 0, ..., ...)\n\nreturn f, torch.tensor(...), torch.tensor(...)"
        ),
    ],
)
def fool_gradcheck(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        f, x, elsewhere = answer.fool_gradcheck()
        points = {
            "float64": x.dtype == elsewhere.dtype == torch.float64,
            "1 to 100 entries": 1 <= min(x.numel(), elsewhere.numel()) <= max(x.numel(), elsewhere.numel()) <= 100,
        }
        if not all(points.values()):
            return {"points": points}
        x, elsewhere = tracked(x), tracked(elsewhere)
        value = f(elsewhere).sum()
        gradient = _gradient(value, elsewhere)
        there, at_x = _slopes(f, elsewhere), _slopes(f, x)
        passes = gradcheck(f, (x,), raise_exception=False)
        again = f(elsewhere).sum()
        repeats = bool(torch.allclose(again, value, equal_nan=True)) and bool(
            torch.allclose(_gradient(again, elsewhere), gradient, equal_nan=True)
        )
        return {
            "points": points,
            "passes": passes,
            "smooth": there.smooth and repeats,
            "wrong": value.requires_grad and _is_wrong(gradient, there),
            "repeatable": torch.equal(f(x), f(x)),
            "repeats there": repeats,
            "finite there": there.finite,
            "breaks there": there.broken,
            "has_graph": value.requires_grad,
            "smooth_at_x": at_x.smooth,
        }


def _gradient(value: Tensor, x: Tensor) -> Tensor:
    """Return the gradient that autograd gives, and zeros if `value` has no graph."""
    if not value.requires_grad:
        return torch.zeros_like(x)
    return torch.autograd.grad(value, x, materialize_grads=True)[0]
