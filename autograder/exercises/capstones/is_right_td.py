"""Extra exercise: write a test for TD(λ)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .td_programs import RIGHT, WRONG, Step, learn


def _refusal(name: str, en: str, ru: str) -> Any:
    """Return the aspect that the learner's test refuses a wrong program. `en` and `ru` describe that program."""
    return aspect(name, 0.5, en=f"A program {en} is refused.", ru=f"Программа, {ru}, отвергается.")


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=18,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right program is accepted, however it is written.",
            ru="Любая правильная программа принимается, как бы она ни была написана.",
        ),
        _refusal("catches_sign", "that goes the wrong way", "которая делает шаги не в ту сторону"),
        _refusal("catches_leak", "whose trace takes up old updates", "в которой обновления попадают в след"),
        _refusal("catches_no_trace", "without traces", "в которой нет следов"),
        _refusal("catches_decay", "whose traces decay by λ alone", "в которой следы затухают только на λ"),
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
        Text(
            "w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)\n...\ntd(w, steps, 0.9, 0.8, 0.5)\n"
            "return torch.allclose(w, expected, atol=1e-5)",
            "w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)\n...\ntd(w, steps, 0.9, 0.8, 0.5)\n"
            "return torch.allclose(w, expected, atol=1e-5)",
        ),
    ],
)
def is_right_td(answer: Any, case: Case) -> dict[str, object]:
    def judge(program: Any, right: bool) -> object:
        try:
            said = answer.is_right_td(program)
            return None if said is None else bool(said)
        except AnswerRaised as raised:
            if isinstance(raised.__cause__, AssertionError):
                return False
            raise

    with using_answer():
        returned, refuses = case.programs.tried(judge)
    right = all(returned)
    accepted = "None" if None in returned else sum(map(bool, returned)) if right or not any(returned) else "some"
    return {
        "accepts_right": right,
        **refuses,
        "accepted": accepted,
        "refused": list(refuses.values()) if right else None,
    }


@is_right_td.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(td=RIGHT[0], programs=Lineup(rng, RIGHT, WRONG))  # the card and `reproduce` use the first


_WALK: list[Step] = [(0, 0.0, 1, False, False), (1, 0.5, 2, False, False), (2, 1.0, 0, True, False)]
_CUT: list[Step] = [(0, 0.0, 2, False, False), (2, 0.5, 1, False, True)]


def _test(td: Any, steps: list[Step], start: tuple[float, ...] = (0.1, 0.2, 0.3), *, lam: float, exact: bool) -> bool:
    """Run a test on the program `td`; the arguments choose its stream of steps and its table."""
    found, truth = (torch.tensor(start, dtype=torch.float64, requires_grad=True) for _ in range(2))
    td(found, steps, 0.9, lam, 0.5)
    learn([truth], lambda state: truth[state], steps, 0.9, lam, 0.5, ends="terminated")
    return torch.equal(found, truth) if exact else torch.allclose(found, truth)


@is_right_td.mistake(
    en="The test accepts everything.",
    ru="Тест принимает всё.",
)
def accepts_everything(td: Any) -> bool:
    return True


@is_right_td.mistake(
    en="The test refuses every right program.",
    ru="Тест отвергает все правильные программы.",
)
def refuses_everything(td: Any) -> bool:
    return False


@is_right_td.mistake(
    en="The test returns None for a right program: `return` is missing.",
    ru="Для правильной программы тест возвращает None: забыт `return`.",
)
def returns_nothing(td: Any) -> None:
    assert _test(td, _WALK + _CUT + _WALK, lam=0.8, exact=False)


@is_right_td.mistake(
    en="Some right programs pass the test, others do not. They add in different orders, so a test needs a tolerance.",
    ru="Одни правильные программы проходят тест, другие нет. Складывают они в разном порядке, поэтому тесту нужен допуск.",
)
def compares_exactly(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, lam=0.8, exact=True)


@is_right_td.mistake(
    en="The weights start at 0 and the only reward comes at the end. Nothing is left over on the way, so an update that gets "
    "into the trace goes unseen.",
    ru="Веса вначале равны 0, и награда только одна, в конце. По дороге ничего не остаётся, и обновление, которое попадает в "
    "след, не заметно.",
)
def starts_at_zero(td: Any) -> bool:
    walk = [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)]
    return _test(td, walk, (0.0, 0.0, 0.0), lam=0.8, exact=False)


@is_right_td.mistake(
    en="The test has a single episode. Traces that are never cleared and endings of any kind go unseen.",
    ru="В тесте один эпизод. Ни следы, которые не обнуляются, ни разные виды окончания так не проверить.",
)
def one_episode(td: Any) -> bool:
    return _test(td, [*_WALK[:2], (2, 1.0, 0, False, False)], lam=0.8, exact=False)


@is_right_td.mistake(
    en="The test has no truncated episode: a program that takes a truncation for an end passes.",
    ru="В тесте нет оборванного эпизода: программа, которая принимает обрыв за конец, проходит.",
)
def never_truncates(td: Any) -> bool:
    return _test(td, _WALK + _WALK, lam=0.8, exact=False)


@is_right_td.mistake(
    en="No episode of the test is terminated: a program that looks beyond the end passes.",
    ru="Ни один эпизод в тесте не закончен: программа, которая заглядывает за конец, проходит.",
)
def never_terminates(td: Any) -> bool:
    return _test(td, _CUT + _CUT, lam=0.8, exact=False)


@is_right_td.mistake(
    en="The test uses λ = 0, where there are no traces to be wrong.",
    ru="В тесте λ = 0, а тогда следов нет и ошибаться не в чем.",
)
def lambda_of_zero(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, lam=0.0, exact=False)


@is_right_td.mistake(
    en="The test has episodes of one step only. Traces never get old there.",
    ru="В тесте только эпизоды из одного шага. Следы там не успевают состариться.",
)
def single_steps(td: Any) -> bool:
    return _test(td, [(0, 1.0, 1, True, False), (1, 0.5, 2, False, True)], lam=0.8, exact=False)


@is_right_td.mistake(
    en="Only the direction of the first change is compared.",
    ru="Сравнивается только направление первого изменения.",
)
def compares_signs(td: Any) -> bool:
    w = torch.zeros(1, requires_grad=True)
    td(w, [(0, 5.0, 0, True, False)], 0.9, 0.8, 0.1)
    return w.item() > 0
