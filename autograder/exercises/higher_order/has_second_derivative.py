"""Exercise: write a test for second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError

from autograder.checking.exercise import Aspect, Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs, nameless, uniform
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

_WRONG_ABOVE = 2.0  # one of the wrong programs is wrong in this part alone


_NAME = "f"


def _refusal(name: str, en: str, ru: str) -> Aspect:
    return aspect(name, 0.5, en=f"{en} is refused.", ru=f"{ru} отвергается.")


def _says(answer: Any, function: Any, x: Tensor, right: bool) -> object:
    """Return what the learner's test says of `function`.

    A failed assertion or gradcheck is a refusal. A RuntimeError on a wrong function is a refusal, too: torch has found that there is no second derivative.
    """
    try:
        return bool(answer.has_second_derivative(function, x.clone()))
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, (AssertionError, GradcheckError) if right else (AssertionError, RuntimeError)):
            return False
        raise


@exercise(
    title=Text("Is there a second derivative?", "Есть ли вторая производная?"),
    kind="write the test",
    difficulty=3,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every function with a right second derivative is accepted, a linear one included, and not every wrong one.",
            ru="Любая функция с верной второй производной принимается, в том числе линейная, а неправильные — не все.",
        ),
        _refusal(
            "catches_fused",
            "A function whose second derivative is not implemented",
            "Функция, вторая производная которой не реализована,",
        ),
        _refusal(
            "catches_once",
            "A function that may be differentiated once only",
            "Функция, которую можно дифференцировать только один раз,",
        ),
        _refusal(
            "catches_constant",
            "A function whose gradient has no graph although it depends on `x`",
            "Функция, у градиента которой нет графа, хотя он зависит от `x`,",
        ),
        _refusal(
            "catches_half",
            "A function that loses a term of the second derivative at `x`, though not everywhere",
            "Функция, в которой в точке `x`, хотя и не всюду, теряется одно из слагаемых второй производной,",
        ),
        _refusal(
            "catches_mixed",
            "A function whose mixed derivatives alone are wrong",
            "Функция, у которой неверны только смешанные производные,",
        ),
    ],
    hints=[
        Text(
            "A test needs a truth that does not come from the second derivative itself. What can be had from the first "
            "one, at two points?",
            "Тесту нужен эталон, который получен не из самой второй производной. Что можно узнать по первой в двух "
            "точках?",
        ),
        Text(
            "The gradient of a linear function has no graph, and rightly so; the gradient of a wrong one may have none "
            "either. Only the numbers tell them apart. torch has a function for such comparisons: lesson 05.",
            "У градиента линейной функции графа нет, и это правильно; но графа может не быть и у неправильной. "
            "Различить их можно только по числам. Для таких сравнений в torch есть готовая функция: см. урок 05.",
        ),
        Text.same(
            "x = x.detach().requires_grad_()\ntry:\n    return torch.autograd.gradgradcheck(...)\nexcept RuntimeError:\n    ..."
        ),
    ],
)
def has_second_derivative(answer: Any, case: Case) -> dict[str, object]:
    calls = 0

    def judged(function: Any, right: bool) -> object:
        def counted(x: Tensor) -> Any:
            nonlocal calls
            calls += 1
            return function(x)

        return _says(answer, nameless(counted, _NAME), case.x, right)

    with using_answer():
        accepts, refuses = case.others.tried(judged)
    mixed = refuses["catches_mixed"] and refuses["lost_mixed"]
    found = {"accepted": accepts, "refused": list(refuses.values()), "calls": calls > 0}
    return {"accepts_right": all(accepts) and any(refuses.values()), **refuses, "catches_mixed": mixed, **found}


@has_second_derivative.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(others=Lineup(rng, programs), x=_WRONG_ABOVE + uniform(rng, 3))
