"""Mistakes of the exercise `td_lambda`, as programs."""

from __future__ import annotations

from typing import Any

import torch

from .td_lambda import td_lambda
from .td_programs import Step, learn


def _learn(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float, **fault: Any) -> list[float]:
    trained = [p for p in model.parameters() if p.requires_grad]
    return learn(trained, lambda state: model(state).sum(), steps, gamma, lam, alpha, **fault)


@td_lambda.mistake(
    en="The value of the next state is not detached: the gradient goes through both sides of the TD error. The target is a "
    "number.",
    ru="Ценность следующего состояния не отсоединена от графа: градиент идёт через обе части ошибки TD. А цель — просто "
    "число.",
)
def both_sides(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", through_next=True)


@td_lambda.mistake(
    en="The traces are never cleared: a reward of one episode changes the states of the one before.",
    ru="Следы не обнуляются: награда одного эпизода меняет состояния предыдущего.",
)
def never_resets(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="never")


@td_lambda.mistake(
    en="The traces are cleared after `terminated` only. After `truncated` another episode begins as well.",
    ru="Следы обнуляются только после `terminated`. Но и после `truncated` начинается другой эпизод.",
)
def resets_when_terminated(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="terminated")


@td_lambda.mistake(
    en="A truncated episode is treated as one that has ended: its next state has a value, only nobody waited for it.",
    ru="Оборванный эпизод принят за законченный: у его следующего состояния есть ценность, просто наград не дождались.",
)
def truncation_is_an_end(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="either")


@td_lambda.mistake(
    en="After a terminal step the value of the next state is still added. Nothing comes after the end, whatever the model "
    "says there.",
    ru="После последнего шага эпизода по-прежнему прибавлена ценность следующего состояния. После конца наград нет, что бы "
    "ни вычислила модель.",
)
def bootstraps_at_the_end(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="never")


@td_lambda.mistake(
    en="There are no traces: each step changes the present state alone, as in TD(0).",
    ru="Следов нет: на каждом шаге меняется только ценность текущего состояния, как в TD(0).",
)
def without_traces(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="always")


@td_lambda.mistake(
    en="The traces decay by `lam` alone. The factor is `gamma * lam`.",
    ru="Следы затухают только с множителем `lam`, а множитель — `gamma * lam`.",
)
def decays_by_lambda(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", decay=lam)


@td_lambda.mistake(
    en="The traces do not decay: each old gradient counts as much as the new one.",
    ru="Следы не затухают: каждый старый градиент входит с тем же весом, что и новый.",
)
def never_decays(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", decay=1.0)


@td_lambda.mistake(
    en="The step goes the wrong way: $\\alpha \\delta z$ is added to the weights, not subtracted.",
    ru="Шаг направлен не туда: $\\alpha \\delta z$ прибавляют к весам, а не вычитают.",
)
def downhill(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=-1.0)


@td_lambda.mistake(
    en="Each step is twice as long, as when the squared error is differentiated without the factor ½.",
    ru="Каждый шаг вдвое длиннее: так бывает, если дифференцировать квадрат ошибки без множителя ½.",
)
def twice_as_long(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=2.0)


@td_lambda.mistake(
    en="The weights move along the trace of the step before: the new gradient is added after the step.",
    ru="Веса сдвигаются вдоль следа прошлого шага: новый градиент прибавляется к следу уже после сдвига.",
)
def stale_trace(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", stale=True)


@td_lambda.mistake(
    en="The weights do not change.",
    ru="Веса не меняются.",
)
def learns_nothing(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=0.0)


@td_lambda.mistake(
    en="The weights are right, but nothing is returned, or no list.",
    ru="Веса верны, но ничего не возвращается или возвращается не список.",
)
def returns_nothing(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> None:
    _learn(model, steps, gamma, lam, alpha, ends="terminated")


@td_lambda.mistake(
    en="`.grad` is not as it was: `v.backward()` adds to it, and clearing it afterwards does not bring the old gradient back.",
    ru="Содержимое `.grad` изменилось: `v.backward()` прибавляет к нему, а обнуление потом не вернёт прежний градиент.",
)
def through_grad(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    model.zero_grad()
    return errors


@td_lambda.mistake(
    en="`v.backward()` has left its gradients in `.grad`: it was to stay as it was.",
    ru="Вызов `v.backward()` оставил градиенты в `.grad`, а это поле должно было остаться прежним.",
)
def leaves_gradients(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.ones_like(p)
    return errors


@td_lambda.mistake(
    en="The list holds tensors. Python numbers are asked for: `.item()` makes one of a tensor.",
    ru="В списке лежат тензоры, а нужны числа Python: число из тензора делает `.item()`.",
)
def returns_tensors(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[torch.Tensor]:
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    return [torch.tensor(error, dtype=torch.float64) for error in errors]


@td_lambda.mistake(
    en="$v(s)$ in $\\delta$ is the value that the step before computed for its next state. The weights have moved since: "
    "compute it anew.",
    ru="Значение $v(s)$ в $\\delta$ взято с прошлого шага, где это состояние было следующим. С тех пор веса изменились: "
    "вычислите его заново.",
)
def carries_the_value(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", carries=True)


@td_lambda.mistake(
    en="The traces are cleared before the last step of an episode, not after it: the error of this step changes the last "
    "state alone.",
    ru="Следы обнуляются до последнего шага эпизода, а не после: ошибка этого шага меняет только последнее состояние.",
)
def clears_too_early(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="early")


@td_lambda.mistake(
    en="Frozen weights move as well. Only those that require grad are trained.",
    ru="Меняются и замороженные веса. А обучать нужно только те, которые требуют градиента.",
)
def trains_the_frozen(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model.requires_grad_(), steps, gamma, lam, alpha, ends="terminated")


@td_lambda.mistake(
    en="The gradient is taken with respect to a frozen weight as well. Pass `torch.autograd.grad` only those that require "
    "grad.",
    ru="Градиент вычисляется и по замороженным весам. Передайте функции `torch.autograd.grad` только те веса, которые "
    "требуют градиента.",
)
def asks_for_the_frozen(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    every = list(model.parameters())
    return learn(every, lambda state: model(state).sum(), steps, gamma, lam, alpha, ends="terminated")


@td_lambda.mistake(
    en="The weights are right, but each returned $\\delta$ was computed after the step: its values are those of the new "
    "weights.",
    ru="Веса верны, но каждое возвращённое $\\delta$ вычислено после шага: ценности в нём получены с новыми весами.",
)
def errors_afterwards(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", late="both")


@td_lambda.mistake(
    en="The weights are right, but $v(s)$ in each returned $\\delta$ was computed after the step, with the new weights.",
    ru="Веса верны, но $v(s)$ в каждом возвращённом $\\delta$ вычислено после шага, с новыми весами.",
)
def value_afterwards(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", late="value")


@td_lambda.mistake(
    en="`gamma` is missing in the TD error: the value of the next state enters it as it is.",
    ru="В ошибке TD нет множителя `gamma`: ценность следующего состояния входит без него.",
)
def forgets_gamma(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, 1.0, lam, alpha, ends="terminated", decay=gamma * lam)


@td_lambda.mistake(
    en="`alpha` is missing: the weights move by $\\delta z$.",
    ru="Нет множителя `alpha`: веса сдвигаются на $\\delta z$.",
)
def forgets_alpha(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, 1.0, ends="terminated")


@td_lambda.mistake(
    en="The reward is missing in the TD error.",
    ru="В ошибке TD нет награды.",
)
def forgets_the_reward(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    unpaid: list[Step] = [(state, 0.0, *rest) for state, _, *rest in steps]  # type: ignore[misc]
    return _learn(model, unpaid, gamma, lam, alpha, ends="terminated")


@td_lambda.mistake(
    en="The traces are cleared after `truncated` only. After `terminated` another episode begins as well.",
    ru="Следы обнуляются только после `truncated`. Но и после `terminated` начинается другой эпизод.",
)
def resets_when_truncated(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="truncated")


@td_lambda.mistake(
    en="The weights are right, but a single number is returned. Asked for is the list of the TD errors of all steps.",
    ru="Веса верны, но возвращено одно число. А нужен список ошибок TD всех шагов.",
)
def returns_the_sum(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> float:
    return sum(_learn(model, steps, gamma, lam, alpha, ends="terminated"))


@td_lambda.mistake(*td_lambda.mistakes["returns_tensors"].says)
def returns_tensors_of_one(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[torch.Tensor]:
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    return [torch.tensor([error], dtype=torch.float64) for error in errors]


@td_lambda.mistake(
    en="The flags `requires_grad` of trained weights are off afterwards. They were to stay as they were.",
    ru="Флаги `requires_grad` обучаемых весов потом выключены. А они должны были остаться прежними.",
)
def leaves_it_frozen(model: Any, steps: list[Step], gamma: float, lam: float, alpha: float) -> list[float]:
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    model.requires_grad_(False)
    return errors
