"""Core exercise: accumulation over micro-batches of different sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text

from .accumulate_equal import (
    accumulate_equal,
    clears_afterwards,
    concatenates,
    divides_by_rows,
    divides_by_samples,
    divides_sums_by_count,
    multiplies_by_size,
    returns_the_gradient,
    sums_the_means,
)
from .common import (
    ONE_BACKWARD_EACH,
    WEIGHT_STAYS,
    Batches,
    linear,
    micro_batches,
    observe_accumulation,
    without_gradient,
)


@exercise(
    title=Text("Micro-batches of different sizes", "Микробатчи разного размера"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        WEIGHT_STAYS,
        aspect(
            "gradient",
            3,
            en="`.grad` equals the gradient of the mean loss over all samples, also when sizes differ.",
            ru="В `.grad` лежит градиент функции потерь, усреднённой по всем примерам, и при разных размерах.",
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
        Text(
            "total = sum(len(x) for x, _ in batches)\n... mse_loss(model(x), y) * len(x) / total",
            "total = sum(len(x) for x, _ in batches)\n... mse_loss(model(x), y) * len(x) / total",
        ),
    ],
)
def accumulate_uneven(answer: Any, case: Case) -> dict[str, object]:
    return observe_accumulation(answer.accumulate_uneven, case)


@accumulate_uneven.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 1))
    model = without_gradient(linear(rng, features=2, outputs=2))
    yield Case(model=model, batches=micro_batches(rng, 1, 5, features=2, outputs=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 3, 2, 6, 1))


@accumulate_uneven.mistake(
    en="Every micro-batch got the same weight, 1/K, although they have different sizes.",
    ru="Все микробатчи получили одинаковый вес 1/K, хотя размеры у них разные.",
)
def divides_by_count(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()


accumulate_uneven.mistake(*accumulate_equal.mistakes["sums_the_means"].says)(sums_the_means)


accumulate_uneven.mistake(*accumulate_equal.mistakes["multiplies_by_size"].says)(multiplies_by_size)


@accumulate_uneven.mistake(
    en="The gradients are zeroed inside the loop, so only the last micro-batch is left.",
    ru="Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.",
)
def keeps_only_the_last(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) * len(x) / total).backward()


@accumulate_uneven.mistake(
    en="The gradient that was there before stayed in the sum. It has to be cleared before the loop.",
    ru="В сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def keeps_the_old_gradient(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()


accumulate_uneven.mistake(*accumulate_equal.mistakes["concatenates"].says)(concatenates)


accumulate_uneven.mistake(*accumulate_equal.mistakes["divides_by_samples"].says)(divides_by_samples)


@accumulate_uneven.mistake(*accumulate_equal.mistakes["sums_the_losses"].says)
def sums_weighted_losses(model: torch.nn.Module, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    model.zero_grad()
    sum(mse_loss(model(x), y) * len(x) / total for x, y in batches).backward()  # type: ignore[union-attr]


for program in (divides_by_rows, divides_sums_by_count, clears_afterwards, returns_the_gradient):
    accumulate_uneven.mistake(*accumulate_equal.mistakes[program.__name__].says)(program)


@accumulate_uneven.mistake(*accumulate_equal.mistakes["overwrites"].says)
def overwrites_the_sum(model: Any, batches: Batches) -> None:
    total = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y) * len(x) / total, model.weight)
        model.weight.grad = gradient


@accumulate_uneven.mistake(
    en="Each loss was multiplied by the size of its micro-batch and divided by their number K. The sizes add up to N, "
    "not to K.",
    ru="Каждое значение функции потерь умножено на размер микробатча и разделено на число микробатчей K. Сумма размеров "
    "равна N, а не K.",
)
def multiplies_and_divides_by_count(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / len(batches)).backward()


@accumulate_uneven.mistake(
    en="Each mean was divided by the size of its own micro-batch: a larger micro-batch counts less instead of more.",
    ru="Каждое среднее разделено на размер своего микробатча: больший микробатч весит меньше, а должен больше.",
)
def divides_by_own_size(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(x)).backward()


@accumulate_uneven.mistake(
    en="The sum for the divisor grows inside the loop: early micro-batches are divided by too few samples.",
    ru="Делитель растёт внутри цикла: градиенты первых микробатчей разделены на слишком малое число примеров.",
)
def divides_by_samples_so_far(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    seen = 0
    for x, y in batches:
        seen += len(x)
        (mse_loss(model(x), y) * len(x) / seen).backward()


@accumulate_uneven.mistake(
    en="The number of samples was taken as K times the size of the first micro-batch. Here the sizes differ.",
    ru="Число примеров принято равным K размерам первого микробатча. Но здесь размеры разные.",
)
def counts_k_times_the_first(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    total = len(batches) * len(batches[0][0])
    for x, y in batches:
        (mse_loss(model(x), y) * len(x) / total).backward()


@accumulate_uneven.mistake(
    en="A micro-batch is weighted by the entries of its `x`, but the divisor counts rows: the weights do not add up "
    "to 1.",
    ru="Вес микробатча — число элементов его `x`, а делитель — число строк: сумма весов не равна 1.",
)
def weighs_by_entries_of_x(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * x.numel() / sum(len(x) for x, _ in batches)).backward()
