"""Exercise: an episode on which a wrong update looks right."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

_GAMMA, _LAM, _ALPHA = 0.9, 0.8, 0.5
_MOVES = 0.01
_EQUAL = 1e-8
_HUGE = 1e300  # in place of a difference that is infinite or no number


@exercise(
    title=Text("An episode that hides the fault", "Эпизод, который скрывает ошибку"),
    kind="write the counter-example",
    difficulty=2,
    aspects=[
        aspect(
            "lists",
            0,
            en="There are as many rewards as weights, at least 3, all finite.",
            ru="Наград столько же, сколько весов, не меньше 3, и все числа конечны.",
        ),
        aspect(
            "moves",
            0.5,
            en=f"Every weight moves by at least {_MOVES}.",
            ru=f"Каждый вес меняется не меньше чем на {_MOVES}.",
            measured=Text(
                f"By how much the smallest change is below {_MOVES}", f"Насколько наименьшее изменение меньше {_MOVES}"
            ),
        ),
        aspect(
            "agrees",
            1.5,
            en="Both updates end with the same weights.",
            ru="Оба обновления дают в конце одинаковые веса.",
            measured=Text("Largest difference of the weights", "Наибольшая разность весов"),
        ),
    ],
    hints=[
        Text(
            "What is left in `.grad` after a step, as a formula? When is it 0?",
            "Что остаётся в `.grad` после шага, если записать это формулой? Когда это 0?",
        ),
        Text(
            "The rest is $-\\delta z$. It does no harm if the TD error is 0 at every step but the last.",
            "Остаётся $-\\delta z$. Это ничему не мешает, если TD-ошибка равна 0 на всех шагах, кроме последнего.",
        ),
        Text.same("def hide_the_fault():\n    return [0.0, ..., ...], [0.0, 0.0, ...]"),
    ],
)
def hide_the_fault(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        found = answer.hide_the_fault()
        if isinstance(found, dict):
            raise Refused("raised.type", got="dict", expected="kind.two_lists")
        weights, rewards = found
        w, r = (torch.tensor([float(each) for each in numbers], dtype=torch.float64) for numbers in (weights, rewards))
        fits = len(w) == len(r) >= 3 and bool(torch.cat([w, r]).isfinite().all())
        if not fits:
            return {
                "lists": False,
                "moves": None,
                "agrees": None,
                "sizes": _misfit(len(w), len(r)),
                "errors": None,
                "swapped": False,
            }
        right, errors = _run(w, r, clears=True)
        wrong, _ = _run(w, r, clears=False)
        swapped = [_run(r, w, clears=clears)[0] for clears in (True, False)]
    nothing = ["0" if abs(error) < _EQUAL else "not 0" for error in errors]
    return {
        "lists": True,
        "moves": AtMost(0, max(0.0, _MOVES - (right - w).abs().min().nan_to_num().item())),
        "agrees": AtMost(_EQUAL, (right - wrong).abs().max().nan_to_num(nan=_HUGE, posinf=_HUGE).item()),
        "sizes": None,
        "swapped": bool(((swapped[0] - swapped[1]).abs() <= _EQUAL).all() and not w[:-1].any() and w[-1]),
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
