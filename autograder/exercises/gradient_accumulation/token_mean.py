"""Extra exercise: accumulate a mean loss over tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.language import Text

from .common import Batches, linear

IGNORED = -100  # the target of padding, which `cross_entropy` skips


@exercise(
    title=Text("Means over tokens", "Среднее по токенам"),
    kind="complete",
    difficulty=3,
    minutes=10,
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
        Text(
            "total = sum((y != -100).sum() for _, y in batches)\n... * (y != -100).sum() / total",
            "total = sum((y != -100).sum() for _, y in batches)\n... * (y != -100).sum() / total",
        ),
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


def _token_loss(model: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy over the tokens of a micro-batch.

    Padding tokens are left out of the mean. `x` has the shape (sequences, tokens, 3), `y` the shape (sequences,
    tokens).
    """
    return cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=IGNORED)


def _accumulate_weighted(model: torch.nn.Module, batches: Batches, weight: Callable[[Tensor], float]) -> None:
    """Accumulate the gradient of the micro-batches' token means.

    A mean is weighted by `weight(y)` divided by the sum of these weights.
    """
    model.zero_grad()
    total = sum(weight(y) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * weight(y) / total).backward()


@token_mean.mistake(
    en="Every micro-batch got the weight 1/K, whether it holds many tokens or few.",
    ru="Каждый микробатч получил вес 1/K, сколько бы токенов в нём ни было.",
)
def weighs_alike(model: torch.nn.Module, batches: Batches) -> None:
    _accumulate_weighted(model, batches, lambda y: 1.0)


@token_mean.mistake(
    en="Micro-batches are weighted by their sequences, or by all positions, padding included.",
    ru="Вес микробатча — число последовательностей или всех позиций вместе с паддингом.",
)
def weighs_by_sequences(model: torch.nn.Module, batches: Batches) -> None:
    _accumulate_weighted(model, batches, len)


@token_mean.mistake(
    en="The mean of each micro-batch was divided by a count that it was never multiplied with.",
    ru="Среднее по микробатчу делится на число токенов, на которое не было умножено.",
)
def divides_a_mean(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) / total).backward()


@token_mean.mistake(
    en="The gradient that was there before stayed in the sum. It has to be cleared before the loop.",
    ru="В сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def keeps_what_was_there(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()


@token_mean.mistake(
    en="The gradients are zeroed inside the loop, so only the last micro-batch is left.",
    ru="Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.",
)
def keeps_the_last_tokens(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        model.zero_grad()
        (_token_loss(model, x, y) * (y != IGNORED).sum() / total).backward()


@token_mean.mistake(
    en="The token means are added up without any weight.",
    ru="Средние по токенам складываются без весов.",
)
def sums_token_means(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        _token_loss(model, x, y).backward()


@token_mean.mistake(
    en="Tokens of class 0 were taken for padding: only `-100` is padding.",
    ru="Токены класса 0 приняты за паддинг, а паддинг — только `-100`.",
)
def takes_class_0_for_padding(model: torch.nn.Module, batches: Batches) -> None:
    _accumulate_weighted(model, batches, lambda y: float((y > 0).sum()))


@token_mean.mistake(
    en="Each mean was multiplied by its number of tokens, but the sum was not divided by the number of all tokens.",
    ru="Каждое среднее умножено на число своих токенов, но сумма не разделена на общее число токенов.",
)
def multiplies_by_tokens(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum()).backward()


@token_mean.mistake(
    en="The sum over valid tokens was divided by the number of all positions, padding included.",
    ru="Сумма по настоящим токенам разделена на число всех позиций вместе с паддингом.",
)
def counts_padding(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    positions = sum(y.numel() for _, y in batches)
    for x, y in batches:
        (_token_loss(model, x, y) * (y != IGNORED).sum() / positions).backward()


@token_mean.mistake(
    en="Padding was turned into class 0 and so counted as tokens of that class.",
    ru="Паддинг заменён классом 0 и поэтому учтён как токены этого класса.",
)
def learns_from_padding(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    positions = sum(y.numel() for _, y in batches)
    for x, y in batches:
        logits, targets = model(x).flatten(0, 1), y.clamp(min=0).flatten()
        (cross_entropy(logits, targets, reduction="sum") / positions).backward()


@token_mean.mistake(
    en="A mean was taken over each sequence first. Tokens of short sequences then weigh more than those of long ones.",
    ru="Сначала взято среднее по каждой последовательности. Поэтому токены коротких последовательностей весят больше, "
    "чем токены длинных.",
)
def averages_each_sequence(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    total = sum(int((y != IGNORED).sum()) for _, y in batches)
    for x, y in batches:
        rows = torch.stack([_token_loss(model, a[None], b[None]) for a, b in zip(x, y)])
        (rows.mean() * (y != IGNORED).sum() / total).backward()


@token_mean.mistake(*token_mean.mistakes["averages_each_sequence"].says)
def averages_all_sequences(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    total = sum(len(y) for _, y in batches)
    for x, y in batches:
        rows = torch.stack([_token_loss(model, a[None], b[None]) for a, b in zip(x, y)])
        (rows.sum() / total).backward()
