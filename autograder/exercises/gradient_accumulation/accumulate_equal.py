"""Exercise: accumulation over micro-batches of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, WEIGHT_STAYS, linear, micro_batches, observe_accumulation, without_gradient


@exercise(
    title=Text("Micro-batches of the same size", "Микробатчи одного размера"),
    kind="complete",
    aspects=[
        WEIGHT_STAYS,
        aspect(
            "gradient",
            2,
            en="`.grad` equals the gradient of the mean loss over all samples, whatever it held before.",
            ru="В `.grad` лежит градиент функции потерь, усреднённой по всем примерам, что бы там ни было раньше.",
        ),
        ONE_BACKWARD_EACH,
    ],
    hints=[
        Text(
            "Compare with the big batch: its loss is a mean over all samples. What is the mean of one micro-batch a "
            "part of?",
            "Сравните с большим батчем: его функция потерь — среднее по всем примерам. Какую долю в нём занимает один "
            "микробатч?",
        ),
        Text(
            "Clear once, before the loop. In the loop: forward, scale, `backward()`. Nothing else.",
            "Обнулите один раз, до цикла. В цикле: прямой проход, масштабирование, `backward()`. Больше ничего.",
        ),
        Text.same("model.zero_grad()\nfor x, y in batches:\n    loss = mse_loss(model(x), y) / ...\n    ..."),
    ],
    why=Why(
        Text(
            "Why does dividing each loss by K give exactly the big batch's gradient?",
            "Почему деление каждой функции потерь на K даёт в точности градиент большого батча?",
        ),
        Text(
            "Micro-batches of the same size weigh the same in the big mean, so it is the mean of their means. "
            "The gradient of that mean is the sum of their gradients, each divided by K.",
            "Микробатчи одного размера входят в общее среднее с равным весом, поэтому оно равно среднему их "
            "средних. Градиент такого среднего — сумма их градиентов, каждый из которых поделён на K.",
        ),
    ),
)
def accumulate_equal(answer: Any, case: Case) -> dict[str, object]:
    return observe_accumulation(answer.accumulate_equal, case)


@accumulate_equal.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 4))
    model = without_gradient(linear(rng, features=2, outputs=2))
    yield Case(model=model, batches=micro_batches(rng, 3, 3, features=2, outputs=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 2, 2, 2, 2, 2))
