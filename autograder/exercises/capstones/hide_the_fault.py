"""Extra exercise: an episode on which a wrong update looks right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

_GAMMA, _LAM, _ALPHA = 0.9, 0.8, 0.5
_MOVES = 0.01


@exercise(
    title=Text("An episode that hides the fault", "Эпизод, который скрывает ошибку"),
    kind="write the counter-example",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "lists",
            0,
            en="There are as many rewards as weights, at least 3, all finite.",
            ru="Наград столько же, сколько весов, не меньше 3, и все числа конечны.",
        ),
        aspect(
            "moves",
            1,
            en=f"Every weight moves by at least {_MOVES}.",
            ru=f"Каждый вес меняется не меньше чем на {_MOVES}.",
        ),
        aspect(
            "agrees",
            1,
            en="Both updates end with the same weights.",
            ru="Оба обновления дают в конце одинаковые веса.",
        ),
    ],
    hints=[
        Text(
            "What is left in `.grad` after a step, as a formula? When is it 0?",
            "Что остаётся в `.grad` после шага, если записать формулой? Когда это 0?",
        ),
        Text(
            "The rest is $-\\delta z$. It does no harm if the TD error is 0 at every step but the last.",
            "Остаётся $-\\delta z$. Вреда от этого нет, если ошибка TD равна 0 на всех шагах, кроме последнего.",
        ),
        Text(
            "return [...], [0.0, 0.0, 1.0]",
            "return [...], [0.0, 0.0, 1.0]",
        ),
    ],
)
def hide_the_fault(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        found = answer.hide_the_fault()
        if isinstance(found, dict):
            raise TypeError("hide_the_fault() returns a dict, not two lists")
        weights, rewards = found
        w, r = (torch.tensor([float(each) for each in numbers], dtype=torch.float64) for numbers in (weights, rewards))
        fits = len(w) == len(r) >= 3 and bool(torch.cat([w, r]).isfinite().all())
        if not fits:
            return {"lists": False, "moves": False, "agrees": False, "sizes": _misfit(len(w), len(r)), "errors": None}
        right, errors = _run(w, r, clears=True)
        wrong, _ = _run(w, r, clears=False)
    scale = 1 + float(w.abs().max())
    nothing = ["0" if abs(error) < 1e-9 * scale else "not 0" for error in errors]
    return {
        "lists": True,
        "moves": bool(((right - w).abs() >= _MOVES).all()),
        "agrees": bool(((right - wrong).abs() <= 1e-9 * scale).all()),
        "sizes": None,
        "errors": [sorted(set(nothing[:-1])), nothing[-1]],
    }


def _misfit(weights: int, rewards: int) -> str:
    """Return the reason for which two lists of these lengths are refused."""
    if weights != rewards:
        return "differ"
    return "short" if weights < 3 else "not finite"


def _run(w: Tensor, rewards: Tensor, clears: bool) -> tuple[Tensor, list[float]]:
    """Run an episode through all states in order; return the weights at the end, and the TD errors."""
    w, trace, left, errors = w.clone(), torch.zeros_like(w), torch.zeros_like(w), []
    for t, reward in enumerate(rewards):
        gradient = left if not clears else torch.zeros_like(w)
        gradient[t] += 1
        delta = float(reward + (_GAMMA * w[t + 1] if t + 1 < len(w) else 0.0) - w[t])
        trace = _GAMMA * _LAM * trace + gradient
        w += _ALPHA * delta * trace
        left = -delta * trace
        errors.append(delta)
    return w, errors


@hide_the_fault.mistake(
    en="Nothing moves: all TD errors are 0, and then any update agrees with any other.",
    ru="Ничего не меняется: все ошибки TD равны 0, а тогда одинаковы любые обновления.",
)
def nothing_moves() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]


@hide_the_fault.mistake(
    en="The first TD errors are not 0, so an update is left in `.grad` and gets into the trace.",
    ru="Первые ошибки TD не равны 0, поэтому в `.grad` остаётся обновление и попадает в след.",
)
def errors_on_the_way() -> tuple[list[float], list[float]]:
    return [0.1, 0.2, 0.3], [0.0, 0.0, 1.0]


@hide_the_fault.mistake(
    en="Some of the TD errors before the last step are 0, but not all: what one of them leaves in `.grad` gets into the trace.",
    ru="Часть ошибок TD до последнего шага равна 0, но не все: то, что оставляет в `.grad` любая из них, попадает в след.",
)
def a_reward_on_the_way() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]


@hide_the_fault.mistake(
    en="The episode has fewer than three states.",
    ru="В эпизоде меньше трёх состояний.",
)
def too_short() -> tuple[list[float], list[float]]:
    return [0.0], [1.0]


@hide_the_fault.mistake(
    en="The lists have different lengths. There is one reward for each weight.",
    ru="Длины списков различаются. На каждый вес нужна одна награда.",
)
def lengths_differ() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [0.0, 1.0]


@hide_the_fault.mistake(
    en="More than two values are returned. Asked for are two lists: the weights and the rewards.",
    ru="Возвращено больше двух значений. Нужны два списка: веса и награды.",
)
def more_than_two() -> Any:
    return [(0.0, 0.0), (0.0, 0.0), (0.0, 1.0)]


@hide_the_fault.mistake(
    en="The TD errors are 0 up to the last step, as they should be, but some weight moves too little. Take a larger last "
    "reward or fewer states.",
    ru="Ошибки TD равны 0 до последнего шага, как и нужно, но какой-то вес почти не меняется. Возьмите последнюю награду "
    "побольше или состояний поменьше.",
)
def hardly_moves() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [0.0, 0.0, 0.03]


@hide_the_fault.mistake(
    en="The last TD error is 0, and an earlier one is not: the states after that one do not move.",
    ru="Последняя ошибка TD равна 0, а одна из прежних нет: состояния после неё не меняются.",
)
def reward_at_the_start() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]


@hide_the_fault.mistake(
    en="A dict is returned. Asked for are two lists: the weights and the rewards.",
    ru="Возвращён словарь, а нужны два списка: веса и награды.",
)
def returns_a_dict() -> Any:
    return {"weights": [0.0, 0.0, 0.0], "rewards": [0.0, 0.0, 1.0]}


@hide_the_fault.mistake(
    en="Some number is infinite or NaN.",
    ru="Среди чисел есть бесконечность или NaN.",
)
def not_finite() -> tuple[list[float], list[float]]:
    return [0.0, 0.0, 0.0], [0.0, 0.0, float("nan")]


@hide_the_fault.mistake(
    en="The first TD errors are not 0, so an update is left in `.grad` and gets into the trace. And some weight moves by "
    "less than 0.01.",
    ru="Первые ошибки TD не равны 0, поэтому в `.grad` остаётся обновление и попадает в след. К тому же какой-то вес "
    "меняется меньше чем на 0.01.",
)
def errors_and_hardly_moves() -> tuple[list[float], list[float]]:
    return [0.9, 0.9, 0.9], [0.0, 0.0, 1.0]
