"""Exercise: a published update with traces, wrong in three ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import linear, value_net, value_table

Optimizer = torch.optim.Optimizer


@exercise(
    title=Text("Traces that go downhill", "Следы, которые ведут не туда"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2.5,
            en="After every step the weights are those of TD(λ), with the step made by the optimizer.",
            ru="После каждого шага веса такие, как в TD(λ), а шаг делает оптимизатор.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "settings",
            0.5,
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
        Text.same("optimizer.zero_grad()\nv.backward()\n...\np.grad[:] = -delta * trace"),
    ],
    why=Why(
        Text(
            "Why must `p.grad` be cleared, although it is overwritten before each step?",
            "Почему `p.grad` нужно обнулять, хотя перед каждым шагом туда записывают новое?",
        ),
        Text(
            "After a step the last update still lies in `p.grad`. `v.backward()` adds ∇v to it, and the trace "
            "would take that sum for a gradient.",
            "После шага в `p.grad` остаётся прошлое обновление. `v.backward()` прибавит к нему ∇v, и след примет "
            "эту сумму за градиент.",
        ),
    ),
)
def fix_traces(answer: Any, case: Case) -> dict[str, object]:
    before = _settings(case.optimizer)
    with weights_after_steps(case.optimizer) as weights:
        for _ in range(2):  # traces of an episode do not reach into the next
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
    with_old_gradients(model)
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
