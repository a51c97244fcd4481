"""Exercise: one step of gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text


@exercise(
    title=Text("One step of descent", "Один шаг спуска"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "trainable",
            0,
            en="`w` and `b` still have `requires_grad=True` and no history.",
            ru="У `w` и `b` по-прежнему `requires_grad=True` и нет истории.",
        ),
        aspect(
            "weights",
            3,
            en="`w` and `b` themselves hold the values after the step.",
            ru="В самих тензорах `w` и `b` лежат значения после шага.",
        ),
        aspect(
            "cleared",
            1,
            en="After a step `w.grad` and `b.grad` are None or zero, ready for the next one.",
            ru="После шага в `w.grad` и `b.grad` лежит None или нули: можно делать следующий.",
        ),
        aspect(
            "loss",
            1,
            en="The loss that comes back is the one before the step.",
            ru="Возвращается значение функции потерь до шага.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Which call fills `w.grad`, and in which direction does that gradient point: where the loss grows or where "
            "it falls?",
            "Какой вызов заполняет поле `w.grad` и куда направлен этот градиент: туда, где функция потерь растёт, или "
            "туда, где она убывает?",
        ),
        Text(
            "Four things in order: the loss, `backward()`, the step under `torch.no_grad()`, clearing `.grad`.",
            "Четыре действия по порядку: функция потерь, `backward()`, шаг внутри `torch.no_grad()`, обнуление "
            "`.grad`.",
        ),
        Text.same(
            "loss = bce(x @ w + b, y)\nloss.backward()\nwith torch.no_grad():\n    w -= ...\n    ...\nreturn loss.item()"
        ),
    ],
    why=Why(
        Text(
            "Why must the step be made in place and under `torch.no_grad()`?",
            "Почему шаг делают на месте и внутри `torch.no_grad()`?",
        ),
        Text(
            "The caller's next forward pass uses the same tensors, so these have to change. While torch records, "
            "a leaf may not be changed in place, and the step is no part of the loss.",
            "Следующий прямой проход возьмёт те же самые тензоры, поэтому измениться должны они сами. Но пока "
            "torch ведёт запись, менять лист на месте нельзя, да и сам шаг — не часть функции потерь.",
        ),
    ),
)
def descend(answer: Any, case: Case) -> dict[str, object]:
    before = {"w": case.w.detach().clone(), "b": case.b.detach().clone()}
    returned = answer.descend(case.w, case.b, case.x, case.y, case.lr)
    both = {"w": case.w, "b": case.b}
    with using_answer():
        return {
            "trainable": all(t.is_leaf and t.requires_grad for t in both.values()),
            "weights": {name: t.detach() for name, t in both.items()},
            "cleared": all(
                (t.grad is None or not t.grad.any()) and not torch.equal(t, before[name]) for name, t in both.items()
            ),
            "loss": number(returned),
            "gradients": {name: t.grad for name, t in both.items()},
        }


@descend.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rows, columns, lr in ((5, 3, 0.3), (2, 4, 0.07)):
        target = torch.randint(0, 2, (columns,), generator=rng, dtype=torch.float64)
        target[0] = 1  # an answer that takes zeros for the labels is wrong on every seed
        # Small weights keep every sigmoid away from saturation, and a step then changes each entry visibly.
        x, w, b = uniform(rng, rows), leaf(rng, rows, columns), leaf(rng, columns)
        with torch.no_grad():
            w /= 10
        yield Case(w=w, b=b, x=x, y=target, lr=lr)
