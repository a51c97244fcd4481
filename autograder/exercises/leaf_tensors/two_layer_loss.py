"""Extra exercise: repair a graph that `Variable` has cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text


def _count_leaves(root: Tensor) -> int:
    """Return the number of leaves that a backward pass from `root` would reach."""
    waiting, seen = [root.grad_fn], set[object]()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return sum(node.name().endswith("AccumulateGrad") for node in seen)  # type: ignore[attr-defined]


@exercise(
    title=Text("Half of the weights learn", "Обучается половина весов"),
    kind="find the bug",
    minutes=4,
    aspects=[
        aspect(
            "loss",
            0,
            en="The value of the loss is the same, and `.grad` of both weights is still None: `backward()` is for the "
            "caller.",
            ru="Значение функции потерь не изменилось, а в `.grad` обоих весов пока лежит None: `backward()` вызовут "
            "снаружи.",
        ),
        aspect(
            "w.grad",
            2,
            en="After `loss.backward()` the first weight has its gradient.",
            ru="После `loss.backward()` у первого веса есть его градиент.",
        ),
        aspect(
            "u.grad",
            1,
            en="After `loss.backward()` the second weight has its gradient.",
            ru="После `loss.backward()` у второго веса есть его градиент.",
            after=("loss", "w.grad"),
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Which leaves does the graph of the loss lead to? Look at `h.grad_fn`.",
            "К каким листьям ведёт граф функции потерь? Посмотрите на `h.grad_fn`.",
        ),
        Text(
            "A tensor is a `Variable` since torch 0.4. What does `Variable(h)` still do, then?",
            "Начиная с torch 0.4 тензор и есть `Variable`. Что же тогда ещё делает `Variable(h)`?",
        ),
        Text.same("h = (x @ w).tanh()\n..."),
    ],
)
def two_layer_loss(answer: Any, case: Case) -> dict[str, object]:
    w, u = (tensor.detach().clone().requires_grad_() for tensor in (case.w, case.u))
    loss = answer.two_layer_loss(case.x, w, u)
    value = {"loss": loss, "w.grad before backward()": w.grad, "u.grad before backward()": u.grad}
    if not isinstance(loss, Tensor) or w.grad is not None or u.grad is not None:
        return {"loss": value}
    with using_answer():
        reached = _count_leaves(loss)
        _ = call_with_other_numbers(loss, answer.two_layer_loss, case.x, w, u)
        loss.backward()
    return {"loss": value, "w.grad": w.grad, "u.grad": u.grad, "reached": reached}


@two_layer_loss.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 4, 2), w=leaf(rng, 2, 3), u=leaf(rng, 3, 1))
    yield Case(x=signed(rng, 2, 3).float(), w=uniform(rng, 3, 2).float(), u=uniform(rng, 2, 2).float())
