"""Exercise: find the node that produces a NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.language import Text

from .common import FLOAT64


@exercise(
    title=Text("The node that makes the NaN", "Узел, в котором возникает NaN"),
    kind="complete",
    difficulty=3,
    aspects=[
        aspect(
            "node",
            3,
            en="The name is that of the node which gives NaN although no NaN came in; without a NaN it is None.",
            ru="Возвращается имя узла, который выдаёт NaN, хотя на вход ему NaN не приходил; если NaN нет, "
            "возвращается None.",
        )
    ],
    hints=[
        Text(
            "Each node gets gradients and gives gradients. Where can you see both during a backward pass?",
            "Каждый узел получает градиенты и выдаёт градиенты. Где во время обратного прохода видно и те и другие?",
        ),
        Text(
            "Walk the graph first and call `node.register_hook(f)` on each node: `f(given, received)` runs after the "
            "node, both are tuples, entries may be None.",
            "Сначала обойдите граф и вызовите для каждого узла `node.register_hook(f)`: `f(given, received)` "
            "выполняется после узла, оба аргумента — кортежи, в них бывает None.",
        ),
        Text.same(
            "def watch(node):\n    def f(given, received):\n        ...\n    node.register_hook(f)\n\nfor node in ...:\n    watch(node)\n..."
        ),
    ],
)
def nan_node(answer: Any, case: Case) -> dict[str, object]:
    return {"node": answer.nan_node(case.loss)}


@nan_node.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b = leaf(rng, 4), signed(rng, 4)
    b[1] = 0.0
    x = a * b
    yield Case(loss=(3 * torch.where(x > 0, x.sqrt(), 0.0)).sum())
    p = leaf(rng, 3)
    yield Case(loss=((p - p.detach().clone()) ** 2).sum().sqrt() + p.sum())
    x = uniform(rng, 2, 3)
    x[0, 2] = 1000.0
    x.requires_grad_()
    yield Case(loss=torch.where(x < 100, (2 * x).exp(), 1.0).mean())
    p = uniform(rng, 3)
    p[1] = 0.0
    yield Case(loss=(2 * p.requires_grad_()).sqrt().sum())  # the gradient is infinite, but not NaN
    yield Case(loss=(leaf(rng, 2) * signed(rng, 2)).tanh().sum())
    for first in (True, False):  # a walk may reach `h`, which gets a NaN, before the node that makes the NaN
        h = leaf(rng, 3) * torch.tensor([0.0, 1.0, -1.0], dtype=FLOAT64)
        guarded = torch.where(h > 0, h.sqrt(), 0.0).sum()
        yield Case(loss=h.sum() + guarded if first else guarded + h.sum())
    p, q = (leaf(rng, 3) * signed(rng, 2, 3)).unbind()
    yield Case(loss=p.exp().sum() + torch.where(q < 0, 1.0, (q - q.detach().clone()).sqrt() * 0).sum())
    a, b = signed(rng, 3), leaf(rng, 3)
    a[2] = 0.0
    yield Case(loss=b.sum() + (a.abs().requires_grad_() * b).sqrt().sum())  # NaN for the second operand alone
    roots = (0 * leaf(rng, 2).detach()).requires_grad_().sqrt()
    yield Case(loss=roots[0] - roots[1])  # the gradient holds inf and -inf, and their sum is NaN
