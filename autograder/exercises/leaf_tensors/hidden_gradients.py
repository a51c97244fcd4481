"""Exercise: return the gradients of intermediate results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, uniform, with_old_gradient
from autograder.checking.labels import BACKWARD_PASSES, Entries
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs, counting_ops

from .networks import random_network, recording_outputs, state_of


@exercise(
    title=Text("Gradients that nobody keeps", "Градиенты, которые никто не хранит"),
    kind="design",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            3,
            en="The list holds the derivative of the loss with respect to the output of each layer, in order of the "
            "layers.",
            ru="В списке — производные функции потерь по выходу каждого слоя, в порядке слоёв.",
            entries=(
                Entries(
                    Text("gradient of the output of layer {n}", "градиент выхода слоя {n}"),
                    Text("gradients", "градиентов"),
                ),
            ),
        ),
        aspect(
            "backward_runs",
            1,
            en="There is at most one call of `backward` or `torch.autograd.grad`, however many layers there are.",
            ru="Сделано не больше одного вызова `backward` или `torch.autograd.grad`, сколько бы ни было слоёв.",
            measured=BACKWARD_PASSES,
        ),
        aspect(
            "kept",
            1,
            en="The model and `x` are as they were: `.grad`, weights, flags, hooks, mode.",
            ru="Модель и `x` остались прежними: `.grad`, веса, флаги, хуки, режим.",
        ),
    ],
    hints=[
        Text(
            "These gradients are computed in every backward pass. What throws them away, and when must you speak up?",
            "Эти градиенты вычисляются при любом обратном проходе. Почему они пропадают и когда нужно попросить их "
            "сохранить?",
        ),
        Text(
            "Run the layers one by one and keep the outputs. Two calls take the tensors whose gradient you want and "
            "touch nothing else.",
            "Вызывайте слои по одному и сохраняйте выходы. Есть два вызова, которым передают нужные тензоры и которые "
            "не меняют градиентов остальных.",
        ),
        Text.same(
            "outputs = []\nfor layer in model:\n    x = layer(x)\n    outputs.append(x)\n... torch.autograd.grad(...)"
        ),
    ],
    why=Why(
        Text(
            "Why does `torch.autograd.grad` find gradients that `backward()` would not leave in `.grad`?",
            "Почему `torch.autograd.grad` находит градиенты, которых `backward()` в `.grad` не оставит?",
        ),
        Text(
            "A backward pass computes the gradient of every intermediate result anyway: without it there is none "
            "for the layer before. `torch.autograd.grad` hands out those you name and writes to no `.grad`.",
            "Обратный проход и так вычисляет градиент каждого промежуточного результата: без него не получить "
            "градиент для предыдущего слоя. `torch.autograd.grad` возвращает те, что названы, и ничего не пишет "
            "в `.grad`.",
        ),
    ),
)
def hidden_gradients(answer: Any, case: Case) -> dict[str, object]:
    with counting_ops() as plain:
        torch.autograd.grad(case.model(case.x), [each for each in case.model.parameters() if each.requires_grad])
    with (
        recording_outputs(case.model) as outputs,
        counting_backward_runs() as runs,
        counting_ops() as ops,
        using_answer(),
    ):
        gradients = answer.hidden_gradients(case.model, case.x)
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else gradients
    # A walk from node to node is no pass of the engine. Twice the operations of one pass are enough for one.
    passes = max(runs.times, ops.times // (2 * plain.times))
    with using_answer():
        kept = state_of(case.model, case.x)
    return {
        "gradients": gradients,
        "backward_runs": AtMost(limit=1, used=passes),
        "kept": kept,
        "retained": any(output.retains_grad for output in outputs),
        "cut": all(output.is_leaf for output in outputs),
    }


@hidden_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=random_network(rng, 3, 4), x=uniform(rng, 2, 3))
    never_used = random_network(rng, 2, 3, 5)
    never_used[2].weight.grad = None
    yield Case(model=never_used, x=with_old_gradient(leaf(rng, 4, 2)))
    partly_frozen = random_network(rng, 2, 3, 2).eval()
    partly_frozen[2].weight.requires_grad_(False)
    yield Case(model=partly_frozen, x=uniform(rng, 3, 2))
    yield Case(
        model=random_network(rng, *[2, 3] * 8), x=uniform(rng, 2, 2)
    )  # deep, so that a walk for each layer shows
