"""Core exercise: a published update with traces, wrong in three ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import fill_gradients, linear, value_net, value_table

Optimizer = torch.optim.Optimizer


@exercise(
    title=Text("Traces that go downhill", "Следы, которые ведут не туда"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "weights",
            3,
            en="After every step the weights are those of TD(λ), with the step made by the optimizer.",
            ru="После каждого шага веса такие, как в TD(λ), а шаг делает оптимизатор.",
        ),
        aspect(
            "settings",
            0,
            en="The settings of the optimizer are as before.",
            ru="Настройки оптимизатора остались прежними.",
        ),
    ],
    hints=[
        Text(
            "There are three faults. Do the three-state episode by hand and compare after the first step: direction, length. "
            "Then after the second.",
            "Ошибок три. Просчитайте эпизод с тремя состояниями вручную и сравните после первого шага направление и длину, а "
            "затем результат второго шага.",
        ),
        Text(
            "What does an optimizer do with `p.grad`: add or subtract? What does it multiply by? And what must be in "
            "`p.grad` before `v.backward()`?",
            "Что оптимизатор делает с `p.grad`: прибавляет или вычитает? На что он умножает? И что должно лежать в "
            "`p.grad` перед `v.backward()`?",
        ),
        Text(
            "optimizer.zero_grad()\nv.backward()\n...\np.grad[:] = -delta * trace",
            "optimizer.zero_grad()\nv.backward()\n...\np.grad[:] = -delta * trace",
        ),
    ],
)
def fix_traces(answer: Any, case: Case) -> dict[str, object]:
    before = _settings(case.optimizer)
    with weights_after_steps(case.optimizer) as weights:
        answer.fix_traces(case.model, case.optimizer, case.states, case.rewards, case.gamma, case.lam)
    after = _settings(case.optimizer)
    changed = [name for name in before if before[name] != after.get(name)]
    return {"weights": weights, "settings": before == after, "changed": changed}


def _settings(optimizer: Optimizer) -> dict[str, object]:
    return {name: value for name, value in optimizer.param_groups[0].items() if name != "params"}


@fix_traces.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model: nn.Module = value_table(0.1, 0.2, 0.3)
    yield Case(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        states=torch.eye(3, dtype=torch.float64),
        rewards=[0.0, 0.0, 1.0],
        gamma=0.9,
        lam=0.8,
    )
    model = linear(rng, 3, 1)
    fill_gradients(model)
    yield Case(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        states=signed(rng, 5, 3),
        rewards=signed(rng, 5).tolist(),
        gamma=0.8,
        lam=0.6,
    )
    model = value_net(rng, 2)
    yield Case(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.1),
        states=signed(rng, 4, 2),
        rewards=signed(rng, 4).tolist(),
        gamma=0.9,
        lam=0.5,
    )


def _run(
    model: Any,
    optimizer: Optimizer,
    states: Tensor,
    rewards: list[float],
    gamma: float,
    lam: float,
    *,
    sign: float,
    clears: bool,
    twice: bool,
    steps: bool = True,
    alone: bool = False,
) -> None:
    """Run the update; the arguments after `lam` choose its faults.

    `clears` is whether `.grad` is cleared before backward, `twice` whether the learning rate is multiplied in by hand.
    If `steps` is False, the weights are changed by hand. If `alone`, each trace is forgotten after its step.
    """
    alpha = optimizer.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        if clears:
            optimizer.zero_grad()
        v = model(states[t])
        v_next = model(states[t + 1]).item() if t + 1 < len(rewards) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, model.parameters()):
            trace[:] = (0 if alone else gamma * lam) * trace + p.grad
            p.grad[:] = sign * (alpha if twice else 1) * delta * trace
        if steps:
            optimizer.step()
        else:
            with torch.no_grad():
                for p in model.parameters():
                    p -= alpha * p.grad


@fix_traces.mistake(
    en="The step still goes the wrong way: the optimizer subtracts `p.grad`, so the update has to stand there with a minus.",
    ru="Шаг по-прежнему направлен не туда: оптимизатор вычитает `p.grad`, поэтому обновление нужно записать туда с минусом.",
)
def still_downhill(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=1, clears=True, twice=False)


@fix_traces.mistake(
    en="`v.backward()` still adds to the update that the last step left in `p.grad`, and the trace takes both.",
    ru="Вызов `v.backward()` по-прежнему прибавляет к обновлению, которое осталось в `p.grad` от прошлого шага, и в след "
    "попадает и то и другое.",
)
def still_adds(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=-1, clears=False, twice=False)


@fix_traces.mistake(
    en="The step size is still there twice: in `p.grad`, and in the optimizer's `lr`.",
    ru="Размер шага по-прежнему учтён дважды: в `p.grad` и в `lr` оптимизатора.",
)
def still_twice(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=-1, clears=True, twice=True)


@fix_traces.mistake(
    en="Only the sign is mended. The step size is in it twice, and `v.backward()` adds to what the last step left in "
    "`p.grad`.",
    ru="Исправлен только знак. Размер шага учтён дважды, а `v.backward()` прибавляет к тому, что осталось в `p.grad` от "
    "прошлого шага.",
)
def the_sign_alone(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=-1, clears=False, twice=True)


@fix_traces.mistake(
    en="Only the clearing is mended. The step goes the wrong way, and the step size is in it twice.",
    ru="Исправлено только обнуление. Шаг направлен не туда, а размер шага учтён дважды.",
)
def the_clearing_alone(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=1, clears=True, twice=True)


@fix_traces.mistake(
    en="Only the step size is mended. The step goes the wrong way, and `v.backward()` adds to what the last step left in "
    "`p.grad`.",
    ru="Исправлен только размер шага. Шаг направлен не туда, а `v.backward()` прибавляет к тому, что осталось в `p.grad` "
    "от прошлого шага.",
)
def the_step_size_alone(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=1, clears=False, twice=False)


@fix_traces.mistake(
    en="The optimizer that was passed makes no step: the weights change without it. Adam, for one, does not subtract `lr` "
    "times `p.grad`.",
    ru="Переданный оптимизатор не делает ни одного шага: веса меняются без него. Adam, например, вычитает не `p.grad`, "
    "умноженный на `lr`.",
)
def steps_by_hand(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=-1, clears=True, twice=False, steps=False)


@fix_traces.mistake(
    en="The traces are empty at the beginning of every step: only the present state is changed, as in TD(0).",
    ru="В начале каждого шага следы пусты: меняется только значение текущего состояния, как в TD(0).",
)
def forgets_the_traces(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    _run(m, o, s, r, gamma, lam, sign=-1, clears=True, twice=False, alone=True)


@fix_traces.mistake(
    en="`zero_grad()` stands between `v.backward()` and the traces. It sets `p.grad` to None, and the gradient of `v` is "
    "lost.",
    ru="Вызов `zero_grad()` стоит между `v.backward()` и следами. Он записывает в `p.grad` значение None, и градиент `v` "
    "теряется.",
)
def clears_too_late(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    traces = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        o.zero_grad()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        o.step()


@fix_traces.mistake(
    en="The gradients are set to zero between `v.backward()` and the traces: the weights never move.",
    ru="Градиенты заполняются нулями между `v.backward()` и следами: веса не меняются.",
)
def zeroes_too_late(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    for t in range(len(r)):
        m(s[t]).backward()
        o.zero_grad(set_to_none=False)
        o.step()


@fix_traces.mistake(
    en="What descends is the squared TD error itself, without traces: `backward()` runs on the error in place of `v`.",
    ru="Спуск идёт по самому квадрату ошибки TD, без следов: `backward()` вызван для ошибки, а не для `v`.",
)
def squared_error(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    for t, reward in enumerate(r):
        o.zero_grad()
        v_next = m(s[t + 1]).detach() if t + 1 < len(r) else 0.0
        ((reward + gamma * v_next - m(s[t])) ** 2).backward()
        o.step()


@fix_traces.mistake(
    en="The trace decays by `lam` alone. The factor is `gamma * lam`.",
    ru="След затухает только с множителем `lam`, а множитель — `gamma * lam`.",
)
def decays_by_lambda(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    traces = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        o.zero_grad()
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = lam * trace + p.grad
            p.grad[:] = -delta * trace
        o.step()


@fix_traces.mistake(
    en="The gradients are cleared after a step only. What was in `.grad` at the start gets into the first trace.",
    ru="Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый след.",
)
def clears_only_afterwards(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    traces = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        o.step()
        o.zero_grad()


@fix_traces.mistake(
    en="The direction was mended in the optimizer, by `maximize`: its settings were to stay as they are.",
    ru="Направление исправлено в оптимизаторе, через `maximize`, а его настройки должны были остаться прежними.",
)
def maximizes(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    o.param_groups[0]["maximize"] = True
    _run(m, o, s, r, gamma, lam, sign=1, clears=True, twice=False)


@fix_traces.mistake(
    en="The learning rate was set to 1, so that the step size counts once. The settings were to stay as they are, and Adam "
    "takes the length of its steps from them.",
    ru="Скорость обучения сделана равной 1, чтобы размер шага учитывался один раз. Но настройки должны были остаться "
    "прежними, и у Adam длина шага определяется ими.",
)
def sets_the_rate_to_one(m: Any, o: Optimizer, s: Tensor, r: list[float], gamma: float, lam: float) -> None:
    alpha = o.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in m.parameters()]
    o.param_groups[0]["lr"] = 1.0
    for t, reward in enumerate(r):
        o.zero_grad()
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -alpha * delta * trace
        o.step()
