"""Exercise: a training step whose graph is never freed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import condense
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import BYTES_LEFT, OF_PARAMETERS
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .common import flat, release, tanh_net

_STEPS = 3


@exercise(
    title=Text("A graph that stays", "Граф, который остаётся в памяти"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "gradient",
            1.5,
            en="After each call `.grad` is the gradient of the loss plus the penalty, whatever it held before, and does "
            "not require grad.",
            ru="После каждого вызова в `.grad` лежит градиент суммы функции потерь и штрафа, что бы там ни было "
            "раньше, и сам этот тензор градиента не требует.",
            entries=(OF_PARAMETERS,),
        ),
        aspect(
            "loss",
            0.5,
            en="The value of the loss without the penalty is returned, as a Python number.",
            ru="Возвращается значение функции потерь без штрафа — число Python.",
            after=(),
        ),
        aspect(
            "bytes",
            1,
            en=f"After {_STEPS} calls nothing new is in memory but the gradients.",
            ru=f"После {_STEPS} вызовов в памяти нет ничего нового, кроме градиентов.",
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "Follow the references: the weight holds `.grad`, `.grad` holds a graph. What does the graph hold?",
            "Проследите за ссылками: у веса есть `.grad`, у `.grad` — граф. На что ссылается граф?",
        ),
        Text(
            "The inner gradient need not go into `.grad` at all. Which function returns it instead? And where must "
            "the old `.grad` be cleared?",
            "Внутренний градиент вовсе не обязан попадать в `.grad`. Какая функция его возвращает? И где нужно "
            "обнулить прежний `.grad`?",
        ),
        Text.same(
            "gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)\n"
            "penalty = sum((g**2).sum() for g in gradients)\n"
            "model.zero_grad()\n..."
        ),
    ],
)
def fix_leak(answer: Any, case: Case) -> dict[str, object]:
    model = case.model
    weights = flat([p.detach() for p in model.parameters()])
    try:
        loss = answer.fix_leak(model, case.x, case.y, case.weight)
        found: dict[str, object] = {"first call": _gradient(model)}
        answer.fix_leak(model, 2 * case.x, case.y, case.weight)
        recorded = [p.grad is not None and p.grad.requires_grad for p in model.parameters()]
        found |= {"second call": _gradient(model), ".grad requires grad": recorded}
        unchanged = torch.equal(flat([p.detach() for p in model.parameters()]), weights)
        found |= {"weights unchanged": unchanged}
    finally:
        release(model)
    number = loss if isinstance(loss, (int, float)) else type(loss).__name__
    return {"gradient": found, "loss": number, "bytes": _bytes_left(answer, case)}


def _gradient(model: torch.nn.Module) -> Tensor:
    """Return all gradients as one vector, with zeros for a `.grad` of None."""
    with using_answer():
        return flat([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]).detach()


def _bytes_left(answer: Any, case: Case) -> AtMost:
    """Return the bytes that are alive after several steps. The limit is the size of all gradients.

    They are measured on one case only, and 0 for the others.
    """
    model, of_gradients = case.model, sum(p.nbytes for p in case.model.parameters())
    if not case.measured:
        return AtMost(limit=of_gradients, used=0)
    found = []
    try:
        with live_bytes() as live:
            for x in case.measured:
                loss = answer.fix_leak(model, x, case.y, case.weight)
                del loss
                found.append(condense(_gradient(model)).tolist())
            left = live.now
    finally:
        release(model)
    return AtMost(limit=of_gradients, used=left, of=found)


@fix_leak.weigh("bytes", most=111 << 20)
def weigh(fix_leak: Any, rng: torch.Generator) -> object:
    """Make six steps on models of their own, which stay.

    A graph that stays, too, holds at least 8 MB.
    """
    models, found = [tanh_net(rng, 3, 16) for _ in range(6)], []
    x, y = signed(rng, 64 * 1024, 3), signed(rng, 64 * 1024, 1)
    try:
        for model in models:
            fix_leak(model, x, y, 0.3)
            found.append(_gradient(model))
    finally:
        for model in models:
            release(model)
    return found


@fix_leak.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (4, 2)]:
        model = with_old_gradients(tanh_net(rng, features, 4))
        x, y = signed(rng, samples, features), signed(rng, samples, 1)
        measured = [signed(rng, samples, features) for _ in range(_STEPS)] if features == 3 else []
        yield Case(model=model, x=x, y=y, weight=0.3, measured=measured)
