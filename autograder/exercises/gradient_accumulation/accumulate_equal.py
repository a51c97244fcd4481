"""Core exercise: accumulation over micro-batches of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text

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
    title=Text("Micro-batches of the same size", "Микробатчи одного размера"),
    kind="complete",
    core=True,
    minutes=10,
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
        Text(
            "model.zero_grad()\nfor x, y in batches:\n    loss = mse_loss(model(x), y) / ...\n    ...",
            "model.zero_grad()\nfor x, y in batches:\n    loss = mse_loss(model(x), y) / ...\n    ...",
        ),
    ],
)
def accumulate_equal(answer: Any, case: Case) -> dict[str, object]:
    return observe_accumulation(answer.accumulate_equal, case)


@accumulate_equal.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=linear(rng), batches=micro_batches(rng, 4, 4, 4))
    model = without_gradient(linear(rng, features=2, outputs=2))
    yield Case(model=model, batches=micro_batches(rng, 3, 3, features=2, outputs=2))
    yield Case(model=linear(rng), batches=micro_batches(rng, 2, 2, 2, 2, 2))


@accumulate_equal.mistake(
    en="The gradient that was there before stayed in the sum. It has to be cleared before the loop.",
    ru="В сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def never_clears(model: torch.nn.Module, batches: Batches) -> None:
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()


@accumulate_equal.mistake(
    en="The gradients are zeroed inside the loop, so only the last micro-batch is left.",
    ru="Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.",
)
def zeroes_inside(model: torch.nn.Module, batches: Batches) -> None:
    for x, y in batches:
        model.zero_grad()
        (mse_loss(model(x), y) / len(batches)).backward()


@accumulate_equal.mistake(
    en="`backward()` runs only for the last micro-batch. The other losses are computed and not used.",
    ru="Обратный проход `backward()` выполняется только для последнего микробатча. Остальные потери вычислены, но не "
    "использованы.",
)
def backward_on_the_last(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        loss = mse_loss(model(x), y) / len(batches)
    loss.backward()


@accumulate_equal.mistake(
    en="The means of the micro-batches were summed without scaling: the gradient is K times too large.",
    ru="Средние по микробатчам сложены без масштабирования: градиент в K раз больше нужного.",
)
def sums_the_means(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()


@accumulate_equal.mistake(
    en="Each loss was multiplied by the size of its micro-batch, but not divided by the number of samples.",
    ru="Каждое значение функции потерь умножено на размер микробатча, но не разделено на общее число примеров.",
)
def multiplies_by_size(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) * len(x)).backward()


@accumulate_equal.mistake(
    en="Each mean was divided by the number of all samples, although it was a mean already.",
    ru="Каждое среднее разделено на число всех примеров, хотя оно уже было средним.",
)
def divides_by_samples(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / sum(len(x) for x, _ in batches)).backward()


@accumulate_equal.mistake(
    en="The micro-batches were joined into one big batch. The gradient is right, but nothing was accumulated.",
    ru="Микробатчи объединены в один большой батч. Градиент верен, но накопления не было.",
)
def concatenates(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()


@accumulate_equal.mistake(
    en="The losses are summed first, and `backward()` runs once. Until then every graph stays in memory.",
    ru="Потери сначала складываются, а `backward()` вызывается один раз. До этого все графы остаются в памяти.",
)
def sums_the_losses(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    sum(mse_loss(model(x), y) / len(batches) for x, y in batches).backward()  # type: ignore[union-attr]


@accumulate_equal.mistake(
    en="The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there "
    "are twice as many entries.",
    ru="Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов "
    "вдвое больше.",
)
def divides_by_rows(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / rows).backward()


@accumulate_equal.mistake(
    en="Sums over the micro-batches were divided by their number K, as if they were means.",
    ru="Суммы по микробатчам разделены на число микробатчей K, как если бы это были средние.",
)
def divides_sums_by_count(model: torch.nn.Module, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / len(batches)).backward()


@accumulate_equal.mistake(
    en="Each gradient replaced the one before in `.grad`: only the last micro-batch is left. It has to be added to "
    "what is there.",
    ru="Каждый градиент записан в `.grad` вместо прежнего: остался только последний микробатч. Новый градиент нужно "
    "прибавлять.",
)
def overwrites(model: Any, batches: Batches) -> None:
    for x, y in batches:
        (gradient,) = torch.autograd.grad(mse_loss(model(x), y) / len(batches), model.weight)
        model.weight.grad = gradient


@accumulate_equal.mistake(
    en="`.grad` was divided by K inside the loop: the first micro-batches are divided again and again.",
    ru="Поле `.grad` делится на K внутри цикла: первые микробатчи делятся снова и снова.",
)
def divides_in_the_loop(model: Any, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
        model.weight.grad /= len(batches)


@accumulate_equal.mistake(
    en="The gradient that was there before was never cleared, and then divided by K together with the new one.",
    ru="Прежний градиент не был обнулён, а потом разделён на K вместе с новым.",
)
def divides_the_old_one_too(model: Any, batches: Batches) -> None:
    for x, y in batches:
        mse_loss(model(x), y).backward()
    model.weight.grad /= len(batches)


@accumulate_equal.mistake(
    en="`.grad` is None at the end: it was cleared after the loop, and the result with it.",
    ru="В конце в `.grad` лежит None: после цикла поле обнулено, и результат пропал.",
)
def clears_afterwards(model: torch.nn.Module, batches: Batches) -> None:
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    model.zero_grad()


@accumulate_equal.mistake(
    en="`.grad` is the one from before: the new gradient was computed, but not put there.",
    ru="В `.grad` лежит прежнее значение: новый градиент вычислен, но туда не записан.",
)
def returns_the_gradient(model: Any, batches: Batches) -> torch.Tensor:
    gradients = [torch.autograd.grad(mse_loss(model(x), y), model.weight)[0] for x, y in batches]
    return torch.stack(gradients).mean(0)


@accumulate_equal.mistake(
    en="The gradient is K times too small: it was divided by K twice, for example in the loss and again in `.grad`.",
    ru="Градиент в K раз меньше нужного: он разделён на K дважды, например в функции потерь и ещё раз в `.grad`.",
)
def divides_twice(model: Any, batches: Batches) -> None:
    model.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches) ** 2).backward()
