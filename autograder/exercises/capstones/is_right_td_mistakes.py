"""Mistakes of the exercise `is_right_td`, as programs."""

from __future__ import annotations

from typing import Any

import torch

from .is_right_td import is_right_td
from .td_programs import Step, learn

_WALK: list[Step] = [(0, 0.0, 1, False, False), (1, 0.5, 2, False, False), (2, 1.0, 0, True, False)]
_CUT: list[Step] = [(0, 0.0, 2, False, False), (2, 0.5, 1, False, True)]


def _test(
    td: Any,
    steps: list[Step],
    start: tuple[float, ...] = (0.1, 0.2, 0.3),
    *,
    gamma: float = 0.9,
    lam: float = 0.8,
    exact: bool = False,
    **fault: Any,
) -> bool:
    """Run a test on the program `td`.

    The arguments choose its stream of steps, its table, and a fault of its own.
    """
    found, truth = (torch.tensor(start, dtype=torch.float64, requires_grad=True) for _ in range(2))
    td(found, steps, gamma, lam, 0.5)
    learn([truth], lambda state: truth[state], steps, gamma, lam, 0.5, **{"ends": "terminated", **fault})
    return torch.equal(found, truth) if exact else torch.allclose(found, truth)


@is_right_td.mistake(
    en="The test accepts everything.",
    ru="Тест принимает всё.",
)
def accepts_everything(td: Any) -> bool:
    return True


@is_right_td.mistake(
    en="The test refuses every right program. Are the expected weights right, may they differ by rounding, and does the test "
    "look at `w` alone?",
    ru="Тест отвергает все правильные программы. Верны ли ожидаемые веса, допускается ли погрешность округления и "
    "смотрит ли тест только на `w`?",
)
def refuses_everything(td: Any) -> bool:
    return False


@is_right_td.mistake(
    en="The test returns None for a right program: `return` is missing.",
    ru="Для правильной программы тест возвращает None: забыт `return`.",
)
def returns_nothing(td: Any) -> None:
    assert _test(td, _WALK + _CUT + _WALK)


@is_right_td.mistake(
    en="Some right programs pass the test, others do not. They add in different orders, and some leave something in "
    "`w.grad`: a test needs a tolerance, and looks at `w` alone.",
    ru="Одни правильные программы проходят тест, другие нет. Складывают они в разном порядке, а некоторые оставляют что-то в "
    "`w.grad`: тесту нужен допуск, и смотреть он должен только на `w`.",
)
def compares_exactly(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, exact=True)


@is_right_td.mistake(
    en="The test judges what the program returns. That does not matter: compare the table after the call.",
    ru="Тест судит по тому, что вернула программа. А это не важно: сравнивать нужно таблицу после вызова.",
)
def judges_the_result(td: Any) -> bool:
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return bool(td(w, _WALK, 0.9, 0.8, 0.5))


@is_right_td.mistake(
    en="The weights start at 0 and the only reward comes at the end. Nothing is left over on the way, so an update that gets "
    "into the trace goes unseen.",
    ru="Веса вначале равны 0, и награда только одна, в конце. По дороге ничего не остаётся, и обновление, которое попадает в "
    "след, не заметно.",
)
def starts_at_zero(td: Any) -> bool:
    walk = [(0, 0.0, 1, False, False), (1, 0.0, 2, False, False), (2, 1.0, 0, True, False)]
    return _test(td, walk, (0.0, 0.0, 0.0))


@is_right_td.mistake(
    en="The test has a single episode. Traces that are never cleared and endings of any kind go unseen.",
    ru="В тесте один эпизод. Ни следы, которые не обнуляются, ни разные виды окончания так не проверить.",
)
def one_episode(td: Any) -> bool:
    return _test(td, [*_WALK[:2], (2, 1.0, 0, False, False)])


@is_right_td.mistake(
    en="The test has no truncated episode: a program that takes a truncation for an end passes.",
    ru="В тесте нет оборванного эпизода: программа, которая принимает обрыв за конец, проходит.",
)
def never_truncates(td: Any) -> bool:
    return _test(td, _WALK + _WALK)


@is_right_td.mistake(
    en="In the test no step is terminated, or the state after it has the value 0: a program that looks beyond the end "
    "passes.",
    ru="В тесте нет законченных эпизодов, или ценность состояния после конца равна 0: программа, которая заглядывает за "
    "конец, проходит.",
)
def never_terminates(td: Any) -> bool:
    return _test(td, _CUT + _CUT)


@is_right_td.mistake(
    en="The test uses λ = 0, where there are no traces to be wrong.",
    ru="В тесте λ = 0, а тогда следов нет и ошибаться не в чем.",
)
def lambda_of_zero(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, lam=0.0)


@is_right_td.mistake(
    en="The test has episodes of one step only. Traces never get old there.",
    ru="В тесте только эпизоды из одного шага. Следы там не успевают состариться.",
)
def single_steps(td: Any) -> bool:
    return _test(td, [(0, 1.0, 1, True, False), (1, 0.5, 2, False, True)])


@is_right_td.mistake(
    en="Only the direction of the first change is compared.",
    ru="Сравнивается только направление первого изменения.",
)
def compares_signs(td: Any) -> bool:
    w = torch.zeros(1, requires_grad=True)
    td(w, [(0, 5.0, 0, True, False)], 0.9, 0.8, 0.1)
    return w.item() > 0


@is_right_td.mistake(
    en="The test accepts everything: it returns a number, and any number but 0 counts as True.",
    ru="Тест принимает всё: он возвращает число, а любое число, кроме 0, считается ответом True.",
)
def returns_a_number(td: Any) -> Any:
    w = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    td(w, _WALK, 0.9, 0.8, 0.5)
    return (w.detach() - torch.tensor([0.34, 0.48, 0.65])).abs().max()


@is_right_td.mistake(
    en="Two wrong programs pass: one never clears its traces, the other takes a truncation for an end. A single terminated "
    "episode tells neither from a right one.",
    ru="Проходят две неправильные программы: одна не обнуляет следы, другая принимает обрыв за конец эпизода. На одном "
    "законченном эпизоде ни та, ни другая не отличается от правильной.",
)
def one_terminated_episode(td: Any) -> bool:
    return _test(td, _WALK)


@is_right_td.mistake(
    en="One wrong program passes: that whose traces decay by λ alone. With γ = 1 it does the same as a right one.",
    ru="Проходит одна неправильная программа: та, в которой следы затухают только на λ. При γ = 1 она не отличается от "
    "правильной.",
)
def gamma_of_one(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, gamma=1.0)


@is_right_td.mistake(
    en="All right programs are refused, and the one that takes a truncation for an end is accepted: the expected weights "
    "were computed as it does.",
    ru="Все правильные программы отвергнуты, а принята та, которая принимает обрыв за конец эпизода: ожидаемые веса "
    "вычислены так же, как в ней.",
)
def expects_truncation_to_end(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, ends="either")


@is_right_td.mistake(
    en="All right programs are refused, and the one that looks beyond the end is accepted: the expected weights were "
    "computed as it does.",
    ru="Все правильные программы отвергнуты, а принята та, которая заглядывает за конец эпизода: ожидаемые веса вычислены "
    "так же, как в ней.",
)
def expects_a_look_beyond(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, ends="never")


@is_right_td.mistake(
    en="All right programs are refused, and the one that never clears its traces is accepted: the expected weights were "
    "computed as it does.",
    ru="Все правильные программы отвергнуты, а принята та, которая не обнуляет следы: ожидаемые веса вычислены так же, как "
    "в ней.",
)
def expects_no_reset(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, resets="never")


@is_right_td.mistake(
    en="All right programs are refused, and the one whose traces decay by λ alone is accepted: the expected weights were "
    "computed as it does.",
    ru="Все правильные программы отвергнуты, а принята та, в которой следы затухают только на λ: ожидаемые веса вычислены "
    "так же, как в ней.",
)
def expects_decay_by_lambda(td: Any) -> bool:
    return _test(td, _WALK + _CUT + _WALK, decay=0.8)


@is_right_td.mistake(
    en="The states are given as tensors. For these programs they are indices of the table.",
    ru="Состояния заданы тензорами. А для этих программ состояние — индекс в таблице.",
)
def states_as_tensors(td: Any) -> bool:
    w, one = torch.tensor([0.1, 0.2, 0.3], requires_grad=True), torch.eye(3)
    td(w, [(one[0], 0.0, one[1], False, False), (one[1], 1.0, one[2], True, False)], 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.zeros(3))


@is_right_td.mistake(
    en="The table does not require grad. A program may rely on a leaf that does.",
    ru="Таблица не требует градиента. А программа вправе рассчитывать на лист, который его требует.",
)
def no_flag(td: Any) -> bool:
    w = torch.tensor([0.1, 0.2, 0.3])
    td(w, _WALK, 0.9, 0.8, 0.5)
    return torch.allclose(w, torch.zeros(3))
