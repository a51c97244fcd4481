"""Core exercise: train one epoch whose last window is incomplete.

A window is the sequence of micro-batches between two optimizer steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import PEAK
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import batch_sizes, live_bytes, passes_to, weights_after_steps

from .accumulate_equal import accumulate_equal
from .common import (
    Batches,
    adam,
    affine,
    clearing_gradients,
    count_samples,
    directions,
    join_windows,
    linear,
    micro_batches,
    sgd,
    train_in_windows,
)
from .fix_zero_inside import fix_zero_inside

_SAMPLES, _WIDTH, _MICRO_BATCHES = 64, 32, 6


def _peak_of_window(train: Callable[..., object]) -> AtMost:
    """Return the peak bytes of training on 6 micro-batches with one optimizer step, with a limit.

    The unit is the hidden activation of a micro-batch, 64 x 32 numbers. One micro-batch needs 3 units: the activation
    and two gradients of its size during backward. The limit is 1.25 times 3. An answer that keeps a second graph needs
    4, one that keeps all graphs 6 or more.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    batches = [(torch.ones(_SAMPLES, 2).double(), torch.ones(_SAMPLES, 1).double()) for _ in range(_MICRO_BATCHES)]
    with live_bytes() as live:
        train(net, sgd(net), batches, _MICRO_BATCHES)
    return AtMost(limit=round(1.25 * 3 * _SAMPLES * _WIDTH * 8), used=live.peak)


@exercise(
    title=Text("A whole epoch", "Целая эпоха"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=20,
    aspects=[
        aspect(
            "weights",
            4,
            en="After every step, the last window's included, the weights are those of training on the big batches.",
            ru="После каждого шага, включая последнее окно, веса такие же, как при обучении на больших батчах.",
        ),
        aspect(
            "live_bytes",
            2,
            en="At no moment is more in memory than the graph of one micro-batch (bytes, for 6 micro-batches of 64 samples).",
            ru="В памяти никогда не больше, чем граф одного микробатча (байты, для 6 микробатчей по 64 примера).",
            measured=PEAK,
        ),
        aspect(
            "mean_loss",
            1,
            en="What comes back is the mean loss over all samples of the epoch, as a float.",
            ru="Возвращается среднее значение функции потерь по всем примерам эпохи, число типа float.",
        ),
    ],
    hints=[
        Text(
            "With 5 micro-batches and K = 2 there are three windows. Which samples does the third mean go over?",
            "При 5 микробатчах и K = 2 окон три. По каким примерам берётся среднее в третьем?",
        ),
        Text(
            "Cut the list into windows first: `batches[i:i + K]`. Each window is then the exercise you have already "
            "solved, and a step.",
            "Сначала разрежьте список на окна: `batches[i:i + K]`. Тогда каждое окно — уже решённое упражнение и один "
            "шаг.",
        ),
        Text(
            "for start in range(0, len(batches), accumulation_steps):\n"
            "    window = batches[start:start + accumulation_steps]\n"
            "    samples = sum(len(x) for x, _ in window)\n"
            "    ...  # and add the losses up with .item()",
            "for start in range(0, len(batches), accumulation_steps):\n"
            "    window = batches[start:start + accumulation_steps]\n"
            "    samples = sum(len(x) for x, _ in window)\n"
            "    ...  # .item()",
        ),
    ],
)
def train_epoch(answer: Any, case: Case) -> dict[str, object]:
    with (
        passes_to(case.model.weight) as passes,
        batch_sizes(case.model) as sizes,
        weights_after_steps(case.optimizer) as weights,
    ):
        mean_loss = answer.train_epoch(case.model, case.optimizer, case.batches, case.accumulation_steps)
    # measured on a model of its own, so one case is enough
    peak = _peak_of_window(answer.train_epoch) if case.accumulation_steps == 3 else AtMost(limit=0, used=0)
    return {
        "weights": weights,
        "mean_loss": mean_loss,
        "backward_runs": directions(passes),
        "sizes": sizes,
        "live_bytes": peak,
    }


@train_epoch.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for sizes, steps in [((2, 2, 2, 2, 2), 2), ((3, 1, 2, 4, 2, 1), 3)]:
        model = linear(rng) if steps == 2 else affine(rng)
        yield Case(model=model, optimizer=sgd(model), batches=micro_batches(rng, *sizes), accumulation_steps=steps)
    model = affine(rng, outputs=2)
    batches = micro_batches(rng, 2, 3, 1, outputs=2)
    yield Case(model=model, optimizer=adam(model), batches=batches, accumulation_steps=2)


@train_epoch.mistake(
    en="The last, incomplete window never gets its step: its samples teach nothing.",
    ru="Последнее, неполное окно остаётся без шага: его примеры ничему не учат.",
)
def drops_the_last_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    whole = len(batches) - len(batches) % accumulation_steps
    return train_in_windows(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: n / count_samples(w))


@train_epoch.mistake(
    en="Every loss is divided by K, whatever the sizes and even in the last, shorter window.",
    ru="Каждое значение функции потерь делится на K, независимо от размеров и даже в последнем, коротком окне.",
)
def always_divides_by_k(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / accumulation_steps)


@train_epoch.mistake(
    en="Each micro-batch of a window got the same weight, although they have different sizes.",
    ru="Все микробатчи окна получили одинаковый вес, хотя размеры у них разные.",
)
def same_weight_in_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / len(w))


@train_epoch.mistake(
    en="Gradients are divided by the samples of the whole epoch instead of those of their window.",
    ru="Градиенты делятся на число примеров всей эпохи, а не своего окна.",
)
def divides_by_the_epoch(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(batches))


@train_epoch.mistake(
    en="The loop is the usual one: every loss divided by K, and no step for the last, incomplete window.",
    ru="Цикл написан как обычно: потери каждого микробатча делятся на K, а последнее, неполное окно остаётся без шага.",
)
def usual_pattern(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    whole = len(batches) - len(batches) % accumulation_steps
    return train_in_windows(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: 1 / accumulation_steps)


@train_epoch.mistake(
    en="Gradients are never cleared: each window still holds those of the windows before it.",
    ru="Градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.",
)
def never_clears_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    optimizer.zero_grad = lambda: None
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w))


@train_epoch.mistake(
    en="Gradients are zeroed for every micro-batch: the step uses only the last one of a window.",
    ru="Градиенты обнуляются для каждого микробатча: в шаг входит только последний микробатч окна.",
)
def zeroes_in_the_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(
        clearing_gradients(model), optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w)
    )


@train_epoch.mistake(
    en="Each window was joined into one big batch. The weights are right, but nothing was accumulated.",
    ru="Каждое окно объединено в один большой батч. Веса верны, но накопления не было.",
)
def joins_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, join_windows(batches, accumulation_steps), 1, lambda w, n: 1.0)


@train_epoch.mistake(
    en="The losses of a window are summed and go backward together: all its graphs are in memory at once.",
    ru="Потери окна складываются, а обратный проход у них один, общий: в памяти одновременно лежат все графы окна.",
)
def sums_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y) * len(x) / count_samples(window) for x, y in window]
        sum(losses).backward()  # type: ignore[union-attr]
        optimizer.step()
        total += sum(loss.item() for loss in losses) * count_samples(window)
    return total / count_samples(batches)


@train_epoch.mistake(
    en="The total of the losses is still a tensor. Unless detached, it carries the history of every micro-batch along: "
    "`.item()` gives numbers without one.",
    ru="Сумма потерь осталась тензором. Если её не отсоединить от графа, она хранит историю всех микробатчей: числа "
    "без истории даёт `.item()`.",
)
def returns_a_tensor(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            total = total + loss * len(x)
        optimizer.step()
    return total / count_samples(batches)


@train_epoch.mistake(
    en="The plain mean of the micro-batches' losses is returned, although their sizes differ.",
    ru="Возвращается простое среднее потерь по микробатчам, хотя размеры у них разные.",
)
def averages_the_means(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    losses = []
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            losses.append(loss.item())
        optimizer.step()
    return sum(losses) / len(losses)


@train_epoch.mistake(*fix_zero_inside.mistakes["lowers_the_rate"].says)
def lowers_the_rate_of_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    rates = [group["lr"] for group in optimizer.param_groups]
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            loss.backward()
            total += loss.item()
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate / sum(y.numel() for _, y in window)
        optimizer.step()
    return total / sum(y.numel() for _, y in batches)


@train_epoch.mistake(*fix_zero_inside.mistakes["divides_the_weight_alone"].says)
def divides_the_weight_of_a_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y) * len(x)
            loss.backward()
            total += loss.item()
        if hasattr(model, "weight"):  # the model whose memory is measured has no such attribute
            model.weight.grad /= count_samples(window)
        optimizer.step()
    return total / count_samples(batches)


@train_epoch.mistake(*accumulate_equal.mistakes["divides_by_rows"].says)
def divides_a_window_by_rows(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            (loss / count_samples(window)).backward()
            total += loss.item()
        optimizer.step()
    return total / count_samples(batches)


@train_epoch.mistake(*fix_zero_inside.mistakes["steps_every_time"].says)
def steps_at_every_micro_batch(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, batches, 1, lambda w, n: 1.0)


@train_epoch.mistake(
    en="The sizes were multiplied in, but the sum was not divided by the samples of the window.",
    ru="Значения умножены на размеры микробатчей, но сумма не разделена на число примеров окна.",
)
def multiplies_by_sizes(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n)


@train_epoch.mistake(
    en="The graphs of a whole window are in memory at once: all forward passes come before the first `backward()`, "
    "or `retain_graph=True` keeps every graph.",
    ru="В памяти одновременно лежат графы всего окна: все прямые проходы идут раньше первого `backward()`, или графы"
    " сохраняет `retain_graph=True`.",
)
def runs_forward_first(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y) * len(x) for x, y in window]
        for loss in losses:
            (loss / count_samples(window)).backward()
            total += loss.item()
        optimizer.step()
    return total / count_samples(batches)


@train_epoch.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def returns_nothing(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> None:
    train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w))


@train_epoch.mistake(
    en="The loss of the last micro-batch alone was returned.",
    ru="Возвращено значение функции потерь только на последнем микробатче.",
)
def returns_the_last_loss(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
        optimizer.step()
    return loss.item()


def _train_and_record(model: Any, optimizer: Any, batches: Batches, k: int) -> list[tuple[float, int]]:
    """Train for one epoch as the solution does, and return loss and size of each micro-batch."""
    recorded = []
    for start in range(0, len(batches), k):
        window = batches[start : start + k]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            recorded.append((loss.item(), len(x)))
        optimizer.step()
    return recorded


def _mean(recorded: list[tuple[float, int]]) -> float:
    return sum(loss * n for loss, n in recorded) / sum(n for _, n in recorded)


@train_epoch.mistake(
    en="The mean loss is that of the last window alone: the total begins anew in each window.",
    ru="Возвращено среднее только по последнему окну: сумма в каждом окне начинается заново.",
)
def returns_the_last_window(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    start = (len(batches) - 1) // accumulation_steps * accumulation_steps
    return _mean(recorded[start:])


@train_epoch.mistake(
    en="The losses were computed anew after training, with the final weights. Asked for is the mean of the losses from "
    "which the model learned.",
    ru="Значения функции потерь вычислены заново после обучения, при последних весах. Нужно среднее тех, на которых "
    "модель училась.",
)
def measures_afterwards(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    _train_and_record(model, optimizer, batches, accumulation_steps)
    with torch.no_grad():
        return _mean([(mse_loss(model(x), y).item(), len(x)) for x, y in batches])


@train_epoch.mistake(
    en="There is one step too many: after the last window the optimizer steps again with the same gradients.",
    ru="Сделан лишний шаг: после последнего окна оптимизатор ещё раз использует те же градиенты.",
)
def steps_once_more(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    optimizer.step()
    return _mean(recorded)


@train_epoch.mistake(
    en="After the loop a step is made for a last, incomplete window, although the last window may be complete.",
    ru="После цикла делается шаг для последнего, неполного окна, хотя последнее окно может быть и полным.",
)
def always_steps_at_the_end(model: Any, optimizer: Any, batches: Batches, accumulation_steps: int) -> float:
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    if len(batches) % accumulation_steps == 0:
        optimizer.zero_grad()
        optimizer.step()
    return _mean(recorded)
