"""Exercise: the mean over ranks with different numbers of samples."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.language import Text

from .common import GRADIENTS, OF_RANKS, Shared, affine, batch, gradients
from .ranks import Link, Rank, run_together, with_others


@exercise(
    title=Text("Ranks with different numbers of samples", "Ранги с разным числом примеров"),
    kind="complete",
    difficulty=3,
    aspects=[
        aspect(
            "gradient",
            3,
            en="On every rank `.grad` is the gradient of the mean loss over all samples of all ranks.",
            ru="На каждом ранге в `.grad` лежит градиент функции потерь, усреднённой по всем примерам всех рангов.",
            entries=GRADIENTS,
        ),
        aspect(
            "all_reduces",
            1,
            en="On every rank `ddp` sends its gradients once, also on a rank without samples.",
            ru="На каждом ранге `ddp` отправляет градиенты один раз, в том числе на ранге без примеров.",
            entries=(OF_RANKS,),
        ),
    ],
    hints=[
        Text(
            "`ddp` gives each rank the weight 1 over `world`. With 6 and 2 samples, which weight should a sample have?",
            "В `ddp` у каждого ранга вес 1 / `world`. Какой вес должен быть у одного примера, если на рангах 6 и 2 примера?",
        ),
        Text(
            "Take the sum over the samples of the rank, not the mean, and divide by how many numbers the `y` of all "
            "ranks have together. Then undo the division by `world`.",
            "Возьмите по примерам ранга сумму, а не среднее, и поделите её на количество чисел в `y` на всех рангах. Затем "
            "компенсируйте деление на `world`.",
        ),
        Text.same('total = all_reduce(torch.tensor(y.numel()))\n... mse_loss(ddp(x), y, reduction="sum") ...'),
    ],
    why=Why(
        Text(
            "Why must a rank without samples run the pass as well?",
            "Почему проход должен сделать и ранг, у которого нет примеров?",
        ),
        Text(
            "An all-reduce ends only when every rank has joined it. A rank that returns early leaves the others "
            "waiting; its gradient of zeros does not change the sum.",
            "Операция all-reduce завершается, только когда в неё вступили все ранги. Если один вернулся раньше, остальные "
            "ждут. А нулевой градиент сумму не меняет.",
        ),
    ),
)
def backward_uneven(answer: Any, case: Case) -> dict[str, object]:
    world, batches = len(case.batches), with_others(case.batches)
    models: list[Rank | None] = [None] * len(batches)

    def run(rank: int, link: Link) -> None:
        ddp = models[rank] = Rank(copy.deepcopy(case.model), link, world)
        ddp.zero_grad()
        x, y = batches[rank]
        answer.backward_uneven(ddp, x, y, link.sum, world)

    links = run_together(run, world)
    return {
        "gradient": [gradients(ddp.module) for ddp in models[:world] if ddp],
        "all_reduces": [link.of_gradients for link in links],
        "uses_no_sync": [ddp.has_been_quiet for ddp in models[:world] if ddp],
        "exchanges": [len(link.offers) > link.of_gradients for link in links],
    }


@backward_uneven.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=affine(rng), batches=[batch(rng, 6), batch(rng, 2)])
    yield Case(model=Shared(rng, 2), batches=[batch(rng, n, 2) for n in (1, 4, 2)])
    yield Case(model=affine(rng, 2), batches=[batch(rng, 3, 2), batch(rng, 0, 2)])
