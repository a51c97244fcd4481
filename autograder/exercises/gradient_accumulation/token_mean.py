"""Exercise: accumulate a mean loss over tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.language import Text

from .common import linear

IGNORED = -100  # the target of padding, which `cross_entropy` skips


@exercise(
    title=Text("Means over tokens", "Среднее по токенам"),
    kind="complete",
    difficulty=3,
    aspects=[
        aspect(
            "gradient",
            2,
            en="`.grad` equals the gradient of the mean over all tokens that are no padding.",
            ru="В `.grad` лежит градиент среднего по всем токенам, кроме паддинга.",
        )
    ],
    hints=[
        Text(
            "`cross_entropy` with `ignore_index` divides by something. By what?",
            "Функция `cross_entropy` с `ignore_index` на что-то делит. На что?",
        ),
        Text(
            "Weight each micro-batch by its share of the valid tokens: `(y != -100).sum()`.",
            "Вес микробатча — его доля среди настоящих токенов: `(y != -100).sum()`.",
        ),
        Text.same("total = sum((y != -100).sum() for _, y in batches)\n... * (y != -100).sum() / total"),
    ],
)
def token_mean(answer: Any, case: Case) -> dict[str, object]:
    answer.token_mean(case.model, case.batches)
    return {"gradient": case.model.weight.grad}


def _random_tokens(rng: torch.Generator, *lengths: int) -> tuple[Tensor, Tensor]:
    """Return inputs and targets of one micro-batch: sequences of these lengths, padded to 5 tokens."""
    y = torch.full((len(lengths), 5), IGNORED)
    for row, length in enumerate(lengths):
        y[row, :length] = torch.randint(4, (length,), generator=rng)
    return uniform(rng, len(lengths), 5, 3), y


@token_mean.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for lengths in ([(5, 1), (2, 2, 1)], [(1,), (4, 5), (2, 3)]):
        yield Case(model=linear(rng, 3, 4), batches=[_random_tokens(rng, *each) for each in lengths])
