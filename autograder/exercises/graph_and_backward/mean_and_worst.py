"""Core exercise: return mean loss and worst loss, keeping one graph alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import counting_backward_runs, live_bytes

from .common import FLOAT64, ROWS, WIDTH

Batches = list[tuple[Tensor, Tensor]]
Pair = tuple[Any, Any]


_BATCHES = 8


def _measure_peak(answer: Callable[..., object]) -> tuple[AtMost, str]:
    """Return the peak bytes over 8 batches with a limit, and a text that says what was kept.

    The first batch is the worst. The unit is a hidden activation of 64 x 32 numbers. A finished graph holds one unit, a
    graph under construction two. A right answer needs 4: the worst graph, the previous one and the current one. The
    limit is 1.25 times 4. All graphs together need 9, one large batch needs 16.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 1)).double()
    batches = [
        (torch.ones(ROWS, 2, dtype=FLOAT64), torch.full((ROWS, 1), 100.0 / (1 + i), dtype=FLOAT64))
        for i in range(_BATCHES)
    ]
    with live_bytes() as live:
        answer(net, batches)
    activations = live.peak / (ROWS * WIDTH * 8)
    like = "some graphs" if activations < 8 else "all graphs" if activations < 13 else "one large batch"
    return AtMost(limit=round(1.25 * 4 * ROWS * WIDTH * 8), used=live.peak), like


@exercise(
    title=Text("One graph to keep, the others to let go", "Один граф оставить, остальные освободить"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "state",
            0,
            en="No backward pass is made inside, and the model, its `.grad` and the list of batches stay as they were.",
            ru="Обратный проход внутри не выполняется, а модель, её `.grad` и список батчей остались прежними.",
        ),
        aspect(
            "mean",
            1,
            en="The first of the pair is the mean loss over all batches, a `float`.",
            ru="Первое в паре — среднее значение функции потерь по всем батчам, число типа `float`.",
        ),
        aspect(
            "worst",
            1,
            en="The second of the pair is the loss of the worst batch.",
            ru="Второе в паре — значение функции потерь на худшем батче.",
        ),
        aspect(
            "gradient",
            1,
            en="A backward pass from the second of the pair gives the gradient of the worst batch's loss.",
            ru="Обратный проход от второго значения в паре даёт градиент функции потерь на худшем батче.",
            after=("state", "worst"),
        ),
        aspect(
            "live_bytes",
            1,
            en="However many batches there are, at most three graphs are in memory at any moment. Counted are bytes "
            "with 8 batches of 64 rows.",
            ru="Сколько бы ни было батчей, в памяти одновременно не больше трёх графов. Считаются байты на 8 батчах "
            "по 64 строки.",
            after=("state", "mean", "worst", "gradient"),
            measured=PEAK,
        ),
    ],
    hints=[
        Text(
            "A graph lives as long as something refers to it. Which names and lists hold a loss, and until when?",
            "Граф живёт, пока на него что-то ссылается. Какие имена и списки хранят значение функции потерь и до "
            "каких пор?",
        ),
        Text(
            "What has to be a tensor with a history in the end, and what may be a number from the start?",
            "Что в конце должно быть тензором с историей, а что может быть числом с самого начала?",
        ),
        Text(
            "total, worst = 0.0, None\nfor x, y in batches:\n    loss = mse_loss(model(x), y)\n    ...\n    if worst is None or ...:\n        ...\nreturn total / len(batches), worst",
            "total, worst = 0.0, None\nfor x, y in batches:\n    loss = mse_loss(model(x), y)\n    ...\n    if worst is None or ...:\n        ...\nreturn total / len(batches), worst",
        ),
    ],
)
def mean_and_worst(answer: Any, case: Case) -> dict[str, object]:
    weight = case.model.weight
    with counting_backward_runs() as runs:
        pair = answer.mean_and_worst(case.model, case.batches)
    state = {
        "backward passes": runs.times,
        "weight": weight.detach().clone(),
        "weight.grad": None if weight.grad is None else weight.grad.clone(),
        "model.training": case.model.training,
        "len(batches)": len(case.batches),
    }
    weight.grad = None
    with using_answer():
        mean, worst = pair
        if isinstance(worst, Tensor) and worst.requires_grad and not runs.times:
            worst.backward()
    live, like = _measure_peak(answer.mean_and_worst)
    return {
        "state": state,
        "mean": mean,
        "worst": number(worst),
        "gradient": weight.grad,
        "is_tensor": isinstance(worst, Tensor),
        "live_bytes": live,
        "like": like,
    }


class ModeDependent(torch.nn.Linear):
    """A linear layer that computes something else in training mode."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (3.0 if self.training else 1.0)


def _linear(rng: torch.Generator, features: int, kind: type[torch.nn.Linear] = torch.nn.Linear) -> torch.nn.Linear:
    """Return a random linear model without bias. Its `.grad` is None."""
    model = kind(features, 1, bias=False, dtype=FLOAT64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, features))
    return model


def _batches(rng: torch.Generator, *targets: float, features: int, scale: float = 1.0) -> Batches:
    """Return a batch of four samples for each of `targets`. A target further from 0 gives a greater loss."""
    return [(scale * signed(rng, 4, features), scale * t * uniform(rng, 4, 1)) for t in targets]


@mean_and_worst.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for features, scale, targets in (
        (2, 1.0, (5.0, 40.0, 10.0, 20.0)),
        (3, 1e-3, (90.0, 9.0, 30.0)),
    ):
        model = _linear(rng, features, torch.nn.Linear if features == 2 else ModeDependent)
        if features == 3:
            model.weight.grad = 100 * signed(rng, 1, 3)
        yield Case(model=model, batches=_batches(rng, *targets, features=features, scale=scale))
    model = _linear(rng, 2)
    torch.nn.init.zeros_(model.weight)
    yield Case(model=model, batches=_batches(rng, 0.0, 0.0, features=2))  # every loss is exactly 0


def _mean_and_extreme(model: Any, batches: Batches, choose: Callable[..., Tensor]) -> tuple[float, Tensor]:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), choose(losses)


@mean_and_worst.mistake(
    en="The graph of every batch stays until the end: in a list of losses, or behind a total or a maximum that is a "
    "tensor.",
    ru="Граф каждого батча остаётся до конца: его удерживает список значений функции потерь либо сумма или максимум, "
    "которые остались тензорами.",
)
def keeps_every_graph(model: Any, batches: Batches) -> Pair:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), max(losses)


@mean_and_worst.mistake(
    en="The mean is still a tensor. Unless detached, it holds the graphs of all batches: `.item()` gives numbers "
    "without a graph.",
    ru="Среднее осталось тензором. Если его не отсоединить, оно удержит графы всех батчей: числа без графа даёт "
    "`.item()`.",
)
def returns_a_tensor(model: Any, batches: Batches) -> Pair:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return torch.stack(losses).mean(), max(losses)


@mean_and_worst.mistake(
    en="The losses were added up, but not divided by the number of batches.",
    ru="Значения функции потерь сложены, но не разделены на число батчей.",
)
def returns_the_sum(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean * len(batches), worst


@mean_and_worst.mistake(
    en="For the worst batch a tensor without a graph was returned: it was detached, or computed under `no_grad`.",
    ru="Для худшего батча возвращён тензор без графа: он отсоединён или вычислен внутри `no_grad`.",
)
def detaches_the_worst(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.detach()


@mean_and_worst.mistake(
    en="The worst loss was returned as a number. A number has no graph, and no backward pass can start from it.",
    ru="Наибольшее значение функции потерь возвращено как число. У числа нет графа, и обратный проход от него "
    "невозможен.",
)
def makes_the_worst_a_number(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.item()


@mean_and_worst.mistake(
    en="The batch with the smallest loss was kept.",
    ru="Оставлен батч с наименьшим значением функции потерь.",
)
def keeps_the_best(model: Any, batches: Batches) -> Pair:
    return _mean_and_extreme(model, batches, min)


@mean_and_worst.mistake(
    en="The last batch was kept, whatever its loss.",
    ru="Оставлен последний батч, каково бы ни было на нём значение функции потерь.",
)
def keeps_the_last(model: Any, batches: Batches) -> Pair:
    mean, _ = _mean_and_extreme(model, batches, max)
    return mean, mse_loss(model(batches[-1][0]), batches[-1][1])


@mean_and_worst.mistake(
    en="A backward pass from the worst loss was made inside the function. It is for the caller to make.",
    ru="Внутри функции выполнен обратный проход от наибольшего значения функции потерь. Его выполнит вызывающий код.",
)
def uses_the_graph_up(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    worst.backward()
    return mean, worst


@mean_and_worst.mistake(
    en="A backward pass was made inside the function for every batch, and gradients were added to `.grad`.",
    ru="Внутри функции выполнен обратный проход для каждого батча, и к `.grad` прибавлены градиенты.",
)
def goes_backward_for_every_batch(model: Any, batches: Batches) -> Pair:
    for x, y in batches:
        mse_loss(model(x), y).backward()  # type: ignore[no-untyped-call]
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="The model was left in evaluation mode. The mode was not to be changed.",
    ru="Модель осталась в режиме оценки. Менять режим не требовалось.",
)
def leaves_eval_mode(model: Any, batches: Batches) -> Pair:
    model.eval()
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="The function clears `.grad`. What lies there belongs to the caller.",
    ru="В функции обнуляется `.grad`. То, что там лежит, принадлежит вызывающему коду.",
)
def clears_the_gradients(model: Any, batches: Batches) -> Pair:
    model.zero_grad()
    return _mean_and_extreme(model, batches, max)


@mean_and_worst.mistake(
    en="The two values were returned in the wrong order: the tensor stands first.",
    ru="Значения возвращены не в том порядке: тензор стоит первым.",
)
def swaps_the_two(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    return worst, mean


@mean_and_worst.mistake(
    en="More graphs are kept than needed: those of several batches at once.",
    ru="Хранится больше графов, чем нужно: сразу для нескольких батчей.",
)
def keeps_several(model: Any, batches: Batches) -> Pair:
    kept: list[Tensor] = []
    total = 0.0
    for x, y in batches:
        kept = sorted([*kept, mse_loss(model(x), y)])[-4:]
        total += mse_loss(model(x), y).item()
    return total / len(batches), kept[-1]


@mean_and_worst.mistake(
    en="All batches were put together and computed at once. The memory grows with their number, with a graph or "
    "without.",
    ru="Все батчи собраны вместе и вычислены сразу. Расход памяти растёт с числом батчей, есть граф или нет.",
)
def joins_the_batches(model: Any, batches: Batches) -> Pair:
    with torch.no_grad():
        x, y = (torch.cat(each) for each in zip(*batches))
        losses = ((model(x) - y) ** 2).flatten().reshape(len(batches), -1).mean(1)
    x, y = batches[int(losses.argmax())]
    return losses.mean().item(), mse_loss(model(x), y)


@mean_and_worst.mistake(
    en="The search for the greatest loss starts from 0, and only a greater one replaces it: if every loss is 0, the 0 "
    "without a graph comes back.",
    ru="Поиск наибольшего значения начат с нуля, а заменить его может только большее: если все значения функции "
    "потерь равны 0, возвращается этот ноль без графа.",
)
def starts_from_zero(model: Any, batches: Batches) -> Pair:
    total, worst = 0.0, torch.tensor(0.0)
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.item()
        if loss > worst:
            worst = loss
    return total / len(batches), worst


@mean_and_worst.mistake(
    en="The batches were taken out of the caller's list. A loop over it leaves the list as it was.",
    ru="Батчи изъяты из списка, который принадлежит вызывающему коду. Цикл по списку его не меняет.",
)
def empties_the_list(model: Any, batches: Batches) -> Pair:
    mean, worst = _mean_and_extreme(model, batches, max)
    batches.clear()
    return mean, worst


@mean_and_worst.mistake(
    en="The loss of the first batch is missing from the mean.",
    ru="В среднем не учтено значение функции потерь на первом батче.",
)
def leaves_out_the_first(model: Any, batches: Batches) -> Pair:
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses[1:]) / len(losses), max(losses)


@mean_and_worst.mistake(
    en="The losses were computed in evaluation mode. A model may compute something else in it: the mode was not to be "
    "changed, not even for a while.",
    ru="Потери вычислены в режиме оценки. Модель может вычислять в нём другое: режим нельзя было менять даже на время.",
)
def evaluates_for_a_while(model: Any, batches: Batches) -> Pair:
    training = model.training
    model.eval()
    pair = _mean_and_extreme(model, batches, max)
    model.train(training)
    return pair
