"""Exercise: write a test for custom Functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text


def _refusal(name: str, points: float, en: str, ru: str) -> Any:
    """Return the aspect that the learner's test refuses a wrong Function, which `en` and `ru` describe."""
    return aspect(name, points, en=f"{en} is refused.", ru=f"{ru} отвергается.")


def _run_answer(answer: Any, function: Any, right: bool) -> object:
    """Return the result of the learner's test on `function`, or False if the test refuses by an exception.

    A failed assertion or gradcheck means that the test refuses `function`. If `right` is False, any other RuntimeError
    means the same. If `right` is True, a RuntimeError is an error in the test and is raised for the learner to read.
    """
    try:
        return answer.is_right_function(function)
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, (AssertionError, GradcheckError) if right else (AssertionError, RuntimeError)):
            return False
        raise


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right Function is accepted, however it is written, and not every wrong one.",
            ru="Любая правильная функция принимается, как бы она ни была написана, а неправильные — не все.",
        ),
        _refusal("catches_wrong_value", 0.5, "A Function with another value", "Функция с другим значением"),
        _refusal(
            "catches_local_derivative",
            0.5,
            "A Function that leaves `grad_output` out",
            "Функция, в которой не учтён `grad_output`,",
        ),
        _refusal(
            "catches_swapped",
            0.5,
            "A Function with its two gradients swapped",
            "Функция с переставленными градиентами",
        ),
        _refusal(
            "catches_missing_gradient",
            0.5,
            "A Function that returns no gradient for the second input",
            "Функция, которая не возвращает градиента для второго входа,",
        ),
        _refusal(
            "catches_negative",
            0.5,
            "A Function that is right for positive `x` only",
            "Функция, верная только при положительных `x`,",
        ),
        _refusal(
            "catches_second_derivative",
            0.5,
            "A Function whose second derivatives are wrong",
            "Функция с неверными вторыми производными",
        ),
        _refusal(
            "catches_mixed_derivative",
            0.5,
            "A Function that is wrong only in one of the two mixed derivatives",
            "Функция, неверная только в одной из двух смешанных производных,",
        ),
        _refusal(
            "catches_edited_grad_output",
            0.5,
            "A Function that changes `grad_output`",
            "Функция, которая меняет `grad_output`,",
        ),
    ],
    hints=[
        Text(
            "`gradcheck` compares backward with forward. What does it not compare with anything at all?",
            "Функция `gradcheck` сравнивает обратный проход с прямым. А чего она вообще ни с чем не сравнивает?",
        ),
        Text(
            "Value against the formula; `gradcheck` with float64, both signs of `x`, `x` and `k` different; "
            "`gradgradcheck`; and a `grad_output` of your own, compared with its copy after a plain backward pass.",
            "Сравните значение с формулой; вызовите `gradcheck` в float64 с обоими знаками `x` и разными `x` и `k`; "
            "`gradgradcheck`; и собственный `grad_output`, который после обычного обратного прохода сравнивают с его "
            "копией.",
        ),
        Text.same(
            "v = torch.rand(..., dtype=torch.float64)\nbefore = v.clone()\n"
            "torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)\n"
            "return torch.equal(v, before) and gradcheck(..., raise_exception=False) and ..."
        ),
    ],
)
def is_right_function(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned, refuses = case.others.tried(lambda function, right: _run_answer(answer, function, right))
    mixed = refuses["catches_mixed_derivative"] and refuses["lost_mixed"]
    right, refused = all(returned), list(refuses.values())
    accepted = "None" if None in returned else sum(map(bool, returned)) if right or not any(returned) else "some"
    return {
        "accepts_right": right and any(refused),
        **refuses,
        "catches_mixed_derivative": mixed,
        "accepted": accepted,
        "refused": refused if right else None,
    }


@is_right_function.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(function=programs.right[0], others=Lineup(rng, programs))  # the card and `reproduce` use the first
