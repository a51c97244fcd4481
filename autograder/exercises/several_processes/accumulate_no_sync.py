"""Exercise: accumulation with a single all-reduce."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.labels import Entries
from autograder.language import Text

from .common import GRADIENTS, OF_RANKS, Shared, affine, batch, gradients
from .ranks import Link, Rank, run_together, with_others

_EVENTS = Entries(Text("pass {n}", "проход {n}"), Text("passes", "проходов"))


@exercise(
    title=Text("One all-reduce for a window", "Один all-reduce на окно"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "gradient",
            0.5,
            en="On every rank `.grad` is the gradient of the mean loss over all samples of all ranks.",
            ru="На каждом ранге в `.grad` лежит градиент функции потерь, усреднённой по всем примерам всех рангов.",
            entries=GRADIENTS,
        ),
        aspect(
            "passes",
            0.5,
            en="Each micro-batch has a backward pass of its own, before the next one goes forward, and there is no other pass.",
            ru="У каждого микробатча свой обратный проход, и он закончен до прямого прохода следующего. Других проходов нет.",
            entries=(_EVENTS,),
        ),
        aspect(
            "all_reduces",
            2.5,
            en="Each rank takes part in one all-reduce.",
            ru="Каждый ранг участвует ровно в одном all-reduce.",
            after=("gradient", "passes"),
            entries=(OF_RANKS,),
        ),
        aspect(
            "next_pass",
            1,
            en="The gradients of an ordinary pass afterwards are averaged again, and the modes of all modules stay.",
            ru="Градиенты обычного прохода после окна по-прежнему усредняются, а режимы всех модулей прежние.",
            after=("gradient", "passes", "all_reduces"),
            entries=(OF_RANKS,),
        ),
    ],
    hints=[
        Text(
            "Which of the passes has to be followed by the exchange? What is in `.grad` by then?",
            "После какого из проходов нужен обмен? Что к этому времени лежит в `.grad`?",
        ),
        Text(
            "The flag is read in the forward pass. So forward and backward of every micro-batch but the last belong "
            "into `with ddp.no_sync():`.",
            "Флаг читается в прямом проходе. Значит, в блок `with ddp.no_sync():` входят и прямой, и обратный проход "
            "каждого микробатча, кроме последнего.",
        ),
        Text.same(
            "ddp.zero_grad()\nwith ddp.no_sync():\n    for x, y in batches[:-1]:\n        ...\nx, y = batches[-1]\n..."
        ),
    ],
    why=Why(
        Text(
            "Why does one all-reduce at the end bring the earlier micro-batches along?",
            "Почему один all-reduce в конце усредняет и градиенты более ранних микробатчей?",
        ),
        Text(
            "Under `no_sync` their gradients were added to `.grad` of the rank. The last pass sends what stands in "
            "`.grad`, the old sum included, and the mean of sums is the sum of means.",
            "Внутри `no_sync` их градиенты прибавлены к `.grad` этого ранга. Последний проход отправляет содержимое "
            "`.grad` вместе с прежней суммой, а среднее сумм равно сумме средних.",
        ),
    ),
)
def accumulate_no_sync(answer: Any, case: Case) -> dict[str, object]:
    world, batches = len(case.batches), with_others(case.batches)
    seen: list[dict[str, Any]] = [{} for _ in batches]

    def run(rank: int, link: Link) -> None:
        ddp = Rank(copy.deepcopy(case.model), link, world)
        for parameter, original in zip(ddp.module.parameters(), case.model.parameters()):
            parameter.grad = None if original.grad is None else original.grad * (rank + 1)
        order, modes = list[str](), [each.training for each in ddp.modules()]
        seen[rank] = {"ddp": ddp, "order": order, "next": None}

        def note(module: object, inputs: object, y: Any) -> None:
            order.append("forward")
            if isinstance(y, Tensor) and y.requires_grad:
                y.register_hook(lambda _: order.append("backward"))

        handle = ddp.module.register_forward_hook(note)
        answer.accumulate_no_sync(ddp, batches[rank])
        handle.remove()
        seen[rank]["modes stay"] = modes == [each.training for each in ddp.modules()]
        seen[rank]["gradient"], before = gradients(ddp.module), link.of_gradients
        seen[rank]["sent"] = before
        ddp(batches[rank][0][0]).sum().backward()
        seen[rank]["next"] = link.of_gradients - before

    links = run_together(run, world)
    seen = seen[:world]
    return {
        "gradient": [each.get("gradient", gradients(each["ddp"].module)) for each in seen],
        "all_reduces": [each.get("sent", link.of_gradients) for each, link in zip(seen, links)],
        "passes": seen[0]["order"],
        "next_pass": {
            "calls of all_reduce": [each["next"] for each in seen],
            "modes stay": [each.get("modes stay") for each in seen],
        },
        "uses_no_sync": [each["ddp"].has_been_quiet for each in seen],
    }


@accumulate_no_sync.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=affine(rng), batches=[[batch(rng, 3) for _ in range(2)] for _ in range(2)])
    yield Case(model=Shared(rng, 2), batches=[[batch(rng, 2, 2) for _ in range(4)] for _ in range(3)])
    yield Case(model=affine(rng, 2), batches=[[batch(rng, 5, 2)] for _ in range(2)])
