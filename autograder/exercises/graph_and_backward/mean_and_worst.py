"""Exercise: return mean loss and worst loss, keeping one graph alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another, condense, randomize
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import counting_backward_runs, live_bytes

from .common import FLOAT64, ROWS, WIDTH

Batches = list[tuple[Tensor, Tensor]]


_BATCHES = 8


def _measure_peak(answer: Callable[..., Any], rng: torch.Generator) -> tuple[AtMost, str]:
    """Return the peak bytes over 8 batches with a limit, and a text that says what was kept.

    One of the first batches is the worst, but not the first. The unit is a hidden activation of 64 x 32 numbers. A finished graph holds one unit, a
    graph under construction two. A right answer needs 4: the worst graph, the previous one and the current one. The
    limit is 1.25 times 4. All graphs together need 9, one large batch needs 16.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 1)).double()
    batches = _batches(rng, *(100 / i for i in range(1, 1 + _BATCHES)), features=2, rows=ROWS)
    batches.insert(int(torch.randint(1, 4, (), generator=rng)), batches.pop(0))
    randomize(net, rng)
    with live_bytes() as live:
        pair = answer(net, batches)
    activations = live.peak / (ROWS * WIDTH * 8)
    like = "some graphs" if activations < 8 else "all graphs" if activations < 13 else "one large batch"
    with using_answer():
        mean, worst = pair
        if isinstance(worst, Tensor) and worst.requires_grad:
            worst.backward()
        result = [mean, number(worst), [condense(p.grad) for p in net.parameters()]]
    return AtMost(limit=round(1.25 * 4 * ROWS * WIDTH * 8), used=live.peak, of=result), like


@exercise(
    title=Text("One graph to keep, the others to let go", "Один граф оставить, остальные освободить"),
    kind="design",
    difficulty=2,
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
            0.5,
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
            en="However many batches there are, at most three graphs are in memory at any moment. The check counts "
            "bytes with 8 batches of 64 rows.",
            ru="Сколько бы ни было батчей, в памяти одновременно не больше трёх графов. Считаются байты на 8 батчах "
            "по 64 строки.",
            after=("state", "mean", "worst", "gradient"),
            measured=PEAK,
        ),
        works_on(
            0.5,
            after=(
                "state",
                "mean",
                "worst",
            ),
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
        Text.same(
            "total, worst = 0.0, None\nfor x, y in batches:\n    loss = mse_loss(model(x), y)\n    ...\n    if worst is None or ...:\n        ...\nreturn total / len(batches), worst"
        ),
    ],
    why=Why(
        Text(
            "Why does a single loss that is kept as a tensor hold so much memory?",
            "Почему одно значение функции потерь, оставленное тензором, удерживает столько памяти?",
        ),
        Text(
            "A tensor refers to its node, the node to all nodes before it, and these to what they saved. "
            "`item()` gives a number, which refers to nothing.",
            "Тензор ссылается на свой узел, узел — на все предыдущие, а те — на то, что сохранили. `item()` даёт "
            "число, а оно ни на что не ссылается.",
        ),
    ),
)
def mean_and_worst(answer: Any, case: Case) -> dict[str, object]:
    weight, batches = case.model.weight, list(case.batches)
    with counting_backward_runs() as runs:
        pair = answer.mean_and_worst(case.model, case.batches)
    state = {
        "backward passes": runs.times,
        "weight": weight.detach().clone(),
        "weight.grad": None if weight.grad is None else weight.grad.clone(),
        "model.training": case.model.training,
        "len(batches)": len(case.batches),
        "batches[i] is old_batch": all(a is b for a, b in zip(case.batches, batches)),
    }
    weight.grad = None
    with using_answer():
        mean, worst = pair
        if isinstance(worst, Tensor) and worst.requires_grad and not runs.times:
            worst.backward()
    live, like = _measure_peak(answer.mean_and_worst, case.rng)
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


def _batches(rng: torch.Generator, *targets: float, features: int, scale: float = 1.0, rows: int = 4) -> Batches:
    """Return a batch of `rows` samples for each of `targets`. A target further from 0 gives a greater loss."""
    return [(scale * signed(rng, rows, features), scale * t * uniform(rng, rows, 1)) for t in targets]


@mean_and_worst.weigh("live_bytes", most=59 << 20)
def weigh(answer: Callable[..., Any], rng: torch.Generator) -> object:
    """Find the worst of 8 batches. A finished graph holds one activation of 8 MB."""
    net = torch.nn.Sequential(torch.nn.Linear(2, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 1)).double()
    batches = _batches(rng, *(100 / i for i in range(_BATCHES, 0, -1)), features=2, rows=32 * 1024)
    mean, worst = answer(randomize(net, rng), batches)
    worst.backward()
    return [mean, number(worst), [p.grad for p in net.parameters()]]


@mean_and_worst.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"pair": answer.mean_and_worst(case.model, case.batches[:2])}


@mean_and_worst.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for features, scale, targets in (
        (2, 1.0, (5.0, 40.0, 10.0, 20.0)),
        (3, 1e-3, (90.0, 9.0, 30.0)),
    ):
        model = _linear(rng, features, torch.nn.Linear if features == 2 else ModeDependent)
        if features == 3:
            model.weight.grad = 100 * signed(rng, 1, 3)
        else:
            model.eval()
        batches = _batches(rng, *targets, features=features, scale=scale)
        yield Case(model=model, batches=batches, rng=another(rng))
    model = _linear(rng, 2)
    torch.nn.init.zeros_(model.weight)
    # every loss is exactly 0
    yield Case(model=model, batches=_batches(rng, 0.0, 0.0, features=2), rng=another(rng))
