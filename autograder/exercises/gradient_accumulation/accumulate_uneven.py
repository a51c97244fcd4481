"""Exercise: accumulation over micro-batches of different sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.language import Text

from .common import ONE_BACKWARD_EACH, WEIGHT_STAYS, linear, micro_batches, observe_accumulation, without_gradient


@exercise(
    title=Text("Micro-batches of different sizes", "Микробатчи разного размера"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        WEIGHT_STAYS,
        aspect(
            "gradient",
            3,
            en="`.grad` equals the gradient of the mean loss over all samples, also when sizes differ.",
            ru="В `.grad` лежит градиент функции потерь, усреднённой по всем примерам, даже если размеры "
            "микробатчей разные.",
        ),
        ONE_BACKWARD_EACH,
    ],
    hints=[
        Text(
            "`mse_loss` gives a mean over its own micro-batch. How many samples is that mean taken over?",
            "Функция `mse_loss` даёт среднее по своему микробатчу. По скольким примерам взято это среднее?",
        ),
        Text(
            "The mean over all samples is a weighted mean of the micro-batches' means. The weights add up to 1.",
            "Среднее по всем примерам — взвешенное среднее по микробатчам. Сумма весов равна 1.",
        ),
        Text.same("total = sum(len(x) for x, _ in batches)\n... mse_loss(model(x), y) * len(x) / total"),
    ],
    why=Why(
        Text(
            "Why is the mean of means wrong when the sizes differ?",
            "Почему среднее средних неверно, когда размеры разные?",
        ),
        Text(
            "It gives each micro-batch the same weight, so a sample of a small one counts more than one of a "
            "large one. The factor n/N gives every sample the weight 1/N.",
            "Все микробатчи получают в нём равный вес, и пример из маленького значит больше, чем пример из "
            "большого. Множитель n/N возвращает каждому примеру вес 1/N.",
        ),
    ),
)
def accumulate_uneven(answer: Any, case: Case) -> dict[str, object]:
    return observe_accumulation(answer.accumulate_uneven, case)


@accumulate_uneven.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 1))
    model = without_gradient(linear(rng, features=2, outputs=2))
    yield Case(model=model, batches=micro_batches(rng, 1, 5, features=2, outputs=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 3, 2, 6, 1))
