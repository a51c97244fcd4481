"""Exercise: train one epoch whose last window is incomplete.

A window is the sequence of micro-batches between two optimizer steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.checking.counted_run import another, condense, randomize
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import PEAK, WEIGHTS_AFTER_STEPS
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import batch_sizes, live_bytes, passes_to, weights_after_steps

from .common import adam, affine, directions, linear, micro_batches, sgd

_SAMPLES, _WIDTH = 64, 32
_MEASURED = (_SAMPLES, _SAMPLES, 40, 56, _SAMPLES, _SAMPLES)  # micro-batches of the run in which bytes are counted


def _peak_of_window(train: Callable[..., object], rng: torch.Generator) -> AtMost:
    """Return the peak bytes of training on 6 micro-batches, in windows of 4 and 2, with a limit.

    The unit is the hidden activation of the largest micro-batch, 64 x 32 numbers. One micro-batch needs 3 units: the
    activation and two gradients of its size during backward. The limit is 1.25 times 3. An answer that keeps a second
    graph needs 4, one that keeps all graphs of a window 5 or more.
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    optimizer, batches = sgd(randomize(net, rng)), micro_batches(rng, *_MEASURED)
    with live_bytes() as live:
        train(net, optimizer, batches, 4)
    weights = condense([*net.parameters()])
    return AtMost(limit=round(1.25 * 3 * _SAMPLES * _WIDTH * 8), used=live.peak, of=weights)


@exercise(
    title=Text("A whole epoch", "Целая эпоха"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "weights",
            3.5,
            en="After every step, the last window's included, the weights are those of training on the big batches.",
            ru="После каждого шага, включая последнее окно, веса такие же, как при обучении на больших батчах.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "live_bytes",
            2,
            en="At no moment is more in memory than the graph of one micro-batch (bytes, for 6 micro-batches of at most 64 samples).",
            ru="В памяти никогда не больше, чем граф одного микробатча (байты, для 6 микробатчей, в каждом не больше 64 примеров).",
            measured=PEAK,
        ),
        aspect(
            "mean_loss",
            1,
            en="What comes back is the mean loss over all samples of the epoch, as a float.",
            ru="Возвращается среднее значение функции потерь по всем примерам эпохи, число типа float.",
        ),
        works_on(
            0.5,
            after=(
                "weights",
                "mean_loss",
            ),
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
    why=Why(
        Text(
            "Why does each micro-batch go backward on its own, not the window's total loss?",
            "Почему обратный проход делают для каждого микробатча, а не для суммы по окну?",
        ),
        Text(
            "Each pass adds its part to `.grad` and frees what the graph saved, so one graph is in memory at a "
            "time. A total of tensors holds the graphs of the whole window.",
            "Каждый проход прибавляет свою часть к `.grad` и освобождает сохранённое в графе, так что граф в "
            "памяти всегда один. Сумма тензоров удерживает графы всего окна.",
        ),
    ),
)
def train_epoch(answer: Any, case: Case) -> dict[str, object]:
    with (
        passes_to(case.model.weight) as passes,
        batch_sizes(case.model) as sizes,
        weights_after_steps(case.optimizer) as weights,
    ):
        mean_loss = answer.train_epoch(case.model, case.optimizer, case.batches, case.accumulation_steps)
    # measured on a model of its own, so one case is enough
    peak = _peak_of_window(answer.train_epoch, case.rng) if case.rng else AtMost(limit=0, used=0)
    return {
        "weights": weights,
        "mean_loss": mean_loss,
        "backward_runs": directions(passes),
        "sizes": sizes,
        "live_bytes": peak,
    }


@train_epoch.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"loss": answer.train_epoch(case.model, case.optimizer, case.batches[:1], case.accumulation_steps)}


@train_epoch.weigh("live_bytes", most=78 << 20)
def weigh(train: Callable[..., object], rng: torch.Generator) -> object:
    """Train on 5 micro-batches in windows of 4 and 1. A graph holds one activation of 12 MB."""
    net = torch.nn.Sequential(torch.nn.Linear(3, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1)).double()
    optimizer, rows = sgd(randomize(net, rng)), 48 * 1024
    train(net, optimizer, micro_batches(rng, rows, rows - 1024, rows, rows, rows), 4)
    return [*net.parameters()]


@train_epoch.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for sizes, steps in [((2, 2, 2, 2, 2), 2), ((3, 1, 2, 4, 2, 1), 3)]:
        model = linear(rng) if steps == 2 else affine(rng)
        batches = micro_batches(rng, *sizes)
        yield Case(model=model, optimizer=sgd(model), batches=batches, accumulation_steps=steps, rng=None)
    model = affine(rng, outputs=2)
    batches = micro_batches(rng, 2, 3, 1, outputs=2)
    yield Case(model=model, optimizer=adam(model), batches=batches, accumulation_steps=2, rng=another(rng))
