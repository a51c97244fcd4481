"""Exercise: write a test for TD(λ)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

_EXPECTED = [
    "catches_truncation",
    "catches_end",
    "catches_no_reset",
    "catches_decay",
]  # faults of a learner's own weights


def _refusal(name: str, en: str, ru: str) -> Any:
    """Return the aspect that the learner's test refuses a wrong program, which `en` and `ru` describe."""
    return aspect(name, 0.5, en=f"A program {en} is refused.", ru=f"Программа, {ru}, отвергается.")


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every right program is accepted, however it is written, and not every wrong one.",
            ru="Все правильные программы принимаются, как бы они ни были написаны, а хотя бы одна неправильная отвергается.",
        ),
        _refusal(
            "catches_sign",
            "that goes the wrong way, by 1 % too little, or astray in the last weight",
            "которая шагает не в ту сторону, делает шаги на 1 % короче или портит последний вес",
        ),
        _refusal("catches_leak", "whose trace takes up old updates", "в которой обновления попадают в след"),
        _refusal("catches_no_trace", "without traces", "в которой нет следов"),
        _refusal(
            "catches_replacing",
            "whose trace becomes 1 at a state that is visited again, instead of growing by 1",
            "в которой след посещённого ещё раз состояния становится равным 1, а не растёт на 1",
        ),
        _refusal("catches_decay", "whose traces decay by λ alone", "в которой следы затухают с множителем λ, без γ"),
        _refusal("catches_no_reset", "that never clears its traces", "которая не обнуляет следы"),
        _refusal("catches_end", "that looks beyond the end", "которая заглядывает за конец эпизода"),
        _refusal(
            "catches_truncation", "that takes a truncation for an end", "которая принимает обрыв за конец эпизода"
        ),
        _refusal("catches_both_sides", "that differentiates the target", "которая дифференцирует и цель"),
    ],
    hints=[
        Text(
            "Which streams of steps tell these programs apart? A single step tells apart almost none.",
            "На каких потоках шагов эти программы различаются? Один-единственный шаг почти ничего не различает.",
        ),
        Text(
            "Take a table with weights that are not 0, γ and λ below 1, and two or three episodes, one of them truncated. "
            "Compute the weights without autograd: the gradient of a table is 1 at the state visited.",
            "Возьмите таблицу с ненулевыми весами, γ и λ меньше 1 и два-три эпизода, один из них оборванный. Веса вычислите "
            "без autograd: градиент таблицы равен 1 у посещённого состояния.",
        ),
        Text.same(
            "w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)\n...\ntd(w, steps, 0.9, 0.8, 0.5)\n"
            "return torch.allclose(w, expected, atol=1e-5)"
        ),
    ],
)
def is_right_td(answer: Any, case: Case) -> dict[str, object]:
    numbers: list[bool] = []

    def judge(program: Any, right: bool) -> object:
        try:
            said = answer.is_right_td(program)
            numbers.append(type(said) in (int, float) or (isinstance(said, torch.Tensor) and said.dtype != torch.bool))
            return None if said is None else bool(said)
        except AnswerRaised as raised:
            if isinstance(raised.__cause__, AssertionError):
                return False
            raise

    with using_answer():
        returned, refuses = case.programs.tried(judge)
    right, none = all(returned), not any(returned)
    expects = [name for name in _EXPECTED if not refuses[name]]
    accepted = "None" if None in returned else sum(map(bool, returned)) if right or none else "some"
    sign = all(refuses[name] for name in ("catches_sign", "too_short", "last_weight_astray"))
    return {
        "accepts_right": right and any(refuses.values()),
        **refuses,
        "catches_sign": sign,
        "accepted": accepted,
        "refused": list(refuses.values()) if right else None,
        "expects": expects if none and len(expects) == 1 else [],
        "judges the result": returned[2] != returned[3],
        "refuses a step too short": refuses["too_short"],
        "returns numbers": right and not any(refuses.values()) and any(numbers),
    }


@is_right_td.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(td=programs.right[0], programs=Lineup(rng, programs))  # the card and `reproduce` use the first
