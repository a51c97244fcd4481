"""Core exercise: TD(λ) on a stream of steps from several episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text

from .common import copies, fill_gradients, linear, value_net, value_table
from .td_programs import Step, learn


@exercise(
    title=Text("TD(λ) on a stream of episodes", "TD(λ) по потоку эпизодов"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=14,
    aspects=[
        aspect(
            "weights",
            3,
            en="At the end the trained weights are those of TD(λ).",
            ru="В конце обучаемые веса такие, как в TD(λ).",
        ),
        aspect(
            "errors",
            1,
            en="The TD errors of all steps are returned as a list of numbers.",
            ru="Возвращён список чисел: ошибки TD всех шагов.",
            after=(),
        ),
        aspect(
            "rest",
            0,
            en="Frozen weights, every `.grad` and every flag `requires_grad` are as before.",
            ru="Замороженные веса, все поля `.grad` и все флаги `requires_grad` остались прежними.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "There are two questions at the end of a step: is anything still to come from the next state? And does the next "
            "step belong to the same episode?",
            "В конце шага есть два вопроса: ждут ли ещё награды после следующего состояния? И относится ли следующий шаг к "
            "тому же эпизоду?",
        ),
        Text(
            "The value of the next state is only a target: no gradient goes into it. `torch.autograd.grad` gives the "
            "gradient of $v(s)$ and leaves `.grad` alone.",
            "Ценность следующего состояния — только цель: градиент через неё не идёт. Функция `torch.autograd.grad` "
            "вычисляет градиент $v(s)$ и не трогает `.grad`.",
        ),
        Text(
            "for state, reward, next_state, terminated, truncated in steps:\n"
            "    v = model(state).sum()\n"
            "    gradients = torch.autograd.grad(v, parameters)\n"
            "    with torch.no_grad():\n"
            "        v_next = 0.0 if terminated else model(next_state).item()\n"
            "        ...  # delta, traces, weights\n"
            "        if terminated or truncated:\n"
            "            ...",
            "for state, reward, next_state, terminated, truncated in steps:\n"
            "    v = model(state).sum()\n"
            "    gradients = torch.autograd.grad(v, parameters)\n"
            "    with torch.no_grad():\n"
            "        v_next = 0.0 if terminated else model(next_state).item()\n"
            "        ...  # delta, traces, weights\n"
            "        if terminated or truncated:\n"
            "            ...",
        ),
    ],
)
def td_lambda(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    before = [copies(p.grad for p in parameters), [p.requires_grad for p in parameters]]
    frozen = copies(p for p in parameters if not p.requires_grad)
    trained = [p for p in parameters if p.requires_grad]
    errors = answer.td_lambda(case.model, case.steps, case.gamma, case.lam, case.alpha)
    with using_answer():
        listed = [_plain(error) for error in errors] if isinstance(errors, (list, tuple)) else errors
    after = [copies(p.grad for p in parameters), [p.requires_grad for p in parameters]]
    return {
        "weights": copies(trained),
        "errors": listed,
        "rest": _same(before[0], after[0])
        and before[1] == after[1]
        and _same(frozen, [p for p in parameters if all(p is not each for each in trained)]),
        "grad": _same(before[0], after[0]),
        "flags": after[1],
    }


def _plain(error: object) -> object:
    """Return a number in a uniform form. A tensor stays a tensor: the contract asks for Python numbers."""
    return error if isinstance(error, torch.Tensor) else number(error)


def _same(one: Any, other: Any) -> bool:
    return all(a is b or (a is not None and b is not None and torch.equal(a, b)) for a, b in zip(one, other))


@td_lambda.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    states = torch.eye(3, dtype=torch.float64)
    walk: list[Step] = [(states[t], float(t == 2), states[(t + 1) % 3], t == 2, False) for t in range(3)]
    yield Case(model=value_table(0.1, 0.2, 0.3), steps=walk * 2, gamma=0.9, lam=0.8, alpha=0.5)
    model: nn.Module = value_net(rng, 2)
    fill_gradients(model)
    yield Case(
        model=model,
        steps=_stream(rng, 2, ["goes on", "terminated", "goes on", "goes on", "truncated", "goes on", "goes on"]),
        gamma=0.8,
        lam=0.7,
        alpha=0.1,
    )
    model = nn.Sequential(linear(rng, 3, 2).requires_grad_(False), nn.Tanh(), linear(rng, 2, 1))
    yield Case(
        model=model,
        steps=_stream(rng, 3, ["goes on", "truncated", "goes on", "goes on", "terminated"]),
        gamma=0.9,
        lam=0.5,
        alpha=0.2,
    )


def _stream(rng: torch.Generator, features: int, ends: list[str]) -> list[Step]:
    """Return random steps. A step's next state is the state of the following one, unless an episode ends there."""
    states = signed(rng, len(ends) + 1, features)
    return [
        (
            states[t],
            signed(rng, 1).item(),
            states[t + 1] if end == "goes on" else signed(rng, features),
            end == "terminated",
            end == "truncated",
        )
        for t, end in enumerate(ends)
    ]


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
