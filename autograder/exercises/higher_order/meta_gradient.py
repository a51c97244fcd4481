"""Exercise: the gradient of a validation loss through steps of SGD."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, LARGEST_TENSOR
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls, Ops, counting_backward_runs, counting_ops

Loss = Callable[[Tensor], Tensor]


@exercise(
    title=Text("Through the steps of an optimizer", "Производная сквозь шаги оптимизатора"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "learning_rate",
            1,
            en="The derivative with respect to the learning rate is right.",
            ru="Производная по скорости обучения верна.",
            after=(),
        ),
        aspect(
            "weights",
            1,
            en="The gradient with respect to the initial weights is right, with the second derivatives of the training "
            "loss.",
            ru="Градиент по начальным весам верен, и в нём учтены вторые производные функции потерь на обучении.",
            after=(),
        ),
        aspect(
            "passes",
            0.5,
            en="Calls of the two losses and backward passes together are at most 3 · `steps` + 2.",
            ru="Вызовов двух функций потерь и обратных проходов вместе не больше 3 · `steps` + 2.",
            after=("learning_rate", "weights"),
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4n elements, for n weights.",
            ru="При n весах ни в одном новом тензоре нет больше 4n элементов.",
            after=("learning_rate", "weights"),
            measured=LARGEST_TENSOR,
        ),
        aspect(
            "kept",
            0.5,
            en="`w` and `lr` stay as they are: numbers and `requires_grad`.",
            ru="Аргументы `w` и `lr` остаются прежними: числа и `requires_grad`.",
            after=("learning_rate", "weights"),
        ),
        works_on(
            0.5,
            after=(
                "learning_rate",
                "weights",
            ),
        ),
    ],
    hints=[
        Text(
            "The last weights are a function of `lr` and of the first weights. Which operations must be in its graph, "
            "and which of them is a gradient?",
            "Последние веса — функция от `lr` и от начальных весов. Какие операции должны войти в её граф и какая из "
            "них — градиент?",
        ),
        Text(
            "Write each step out of place: `w = w - lr * velocity`. Neither `no_grad()` nor `optimizer.step()` is "
            "recorded.",
            "Записывайте каждый шаг без изменения на месте: `w = w - lr * velocity`. То, что выполнено внутри "
            "`no_grad()` или в `optimizer.step()`, в граф не попадает.",
        ),
        Text.same(
            "w0, lr = w.detach().requires_grad_(), lr.detach().requires_grad_()\nat, velocity = w0, 0\n"
            "for _ in range(steps):\n"
            "    (g,) = torch.autograd.grad(train_loss(at), at, create_graph=...)\n    ...\n"
            "return torch.autograd.grad(validation_loss(at), (lr, w0))"
        ),
    ],
    why=Why(
        Text(
            "Why does the result contain second derivatives of the training loss?",
            "Почему в результат входят вторые производные функции потерь на обучении?",
        ),
        Text(
            "The weights after a step contain the gradient, which itself depends on the weights before. The "
            "chain rule goes through it as well, so it has to be recorded, with `create_graph=True`.",
            "В весах после шага есть градиент, а он сам зависит от весов до шага. Цепное правило проходит и "
            "через него, поэтому он должен быть записан, с `create_graph=True`.",
        ),
    ),
)
def meta_gradient(answer: Any, case: Case) -> dict[str, object]:
    train, validation = CountedCalls(case.train_loss), CountedCalls(case.validation_loss)
    before = case.w.clone(), case.lr.clone()
    with counting_backward_runs() as runs:
        found = answer.meta_gradient(train.function, validation.function, case.w, case.lr, case.momentum, case.steps)
    by_lr, by_w = found if isinstance(found, (tuple, list)) and len(found) == 2 else (found, None)
    calls = train.times + validation.times
    kept = {
        "weights unchanged": torch.equal(case.w, before[0]) and torch.equal(case.lr, before[1]),
        "requires_grad unchanged": not case.w.requires_grad and not case.lr.requires_grad,
    }
    case.w, case.lr, ops, counted = *before, Ops(), None
    if case.counted is not None:
        losses = case.train_loss, case.validation_loss
        with counting_ops() as ops:
            counted = answer.meta_gradient(*losses, case.counted, case.lr, case.momentum, case.steps)
    return {
        "learning_rate": by_lr,
        "weights": by_w,
        "passes": AtMost(limit=3 * case.steps + 2, used=calls + runs.times),
        "largest": AtMost(limit=4 * len(case.w), used=ops.largest, of=counted),
        "kept": kept,
        "many_runs": runs.times > 2 * case.steps + 1,
        "matrix": ops.largest >= len(case.w) ** 2,
    }


@meta_gradient.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    losses = case.train_loss, case.validation_loss
    return {"derivatives": answer.meta_gradient(*losses, case.w, case.lr, case.momentum, 1)}


@meta_gradient.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, momentum, steps in [(6, 0.5, 3), (5, 0.0, 2), (6, 0.9, 1)]:
        yield Case(
            train_loss=_loss(rng, n),
            validation_loss=_loss(rng, n),
            w=signed(rng, n),
            lr=torch.tensor(0.1, dtype=torch.float64),
            momentum=momentum,
            steps=steps,
            counted=signed(rng, n) if steps == 1 else None,
        )


def _loss(rng: torch.Generator, n: int) -> Loss:
    a, b = signed(rng, n) / 2, uniform(rng, n)
    return Formula("w -> ((a * w).sin() + w.roll(1) * w / 4 - b).square().mean()", lambda w: _of(w, a, b))


def _of(w: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ((a * w).sin() + w.roll(1) * w / 4 - b).square().mean()
