"""Exercise: clipping by a norm whose parts lie on several ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.language import Text

from .common import GRADIENTS, OF_RANKS
from .ranks import Link, run_together, with_others


@exercise(
    title=Text("7 in place of 5", "7 вместо 5"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "norm",
            1.5,
            en="Every rank returns the norm of the whole gradient, as it was before clipping.",
            ru="Каждый ранг возвращает норму всего градиента, какой она была до отсечения.",
            entries=(OF_RANKS,),
        ),
        aspect(
            "gradients",
            1.5,
            en="Afterwards the whole gradient has norm `max_norm` at most, and its direction is the old one.",
            ru="После отсечения норма всего градиента не больше `max_norm`, а направление прежнее.",
            entries=GRADIENTS,
        ),
    ],
    hints=[
        Text(
            "One rank holds a gradient of 3, the other one of 4. What does the function return?",
            "На одном ранге градиент 3, на другом 4. Что вернёт функция?",
        ),
        Text(
            "Norms do not add up, squares do. And what does a rank offer that has no gradient at all?",
            "Нормы не складываются, складываются квадраты. А что отправит ранг, у которого нет ни одного градиента?",
        ),
        Text.same("squares = ...  # a sum that may have no terms\nnorm = all_reduce(squares).sqrt()\n..."),
    ],
    why=Why(
        Text(
            "Why does a rank without any gradient call `all_reduce` as well?",
            "Почему и ранг без единого градиента вызывает `all_reduce`?",
        ),
        Text(
            "The sum is complete only when all ranks have joined. Its part is 0, and it needs the norm no less: "
            "otherwise the others wait.",
            "Сумма готова, только когда в обмен вступили все ранги. Вклад такого ранга равен 0, но без его вызова "
            "остальные будут ждать вечно.",
        ),
    ),
)
def clip_shards(answer: Any, case: Case) -> dict[str, object]:
    world, gradients, shapes = len(case.gradients), with_others(case.gradients), case.shapes * 2
    norms: list[object] = [None] * len(gradients)
    shards: list[list[Tensor]] = [[] for _ in gradients]

    def run(rank: int, link: Link) -> None:
        norms[rank] = None
        shards[rank] = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes[rank]]
        for shard, gradient in zip(shards[rank], gradients[rank]):
            shard.grad = None if gradient is None else gradient.clone()
        norm = answer.clip_shards(shards[rank], case.max_norm, link.sum)
        norms[rank] = float(norm) if isinstance(norm, Tensor) and norm.numel() == 1 else norm

    links = run_together(run, world)
    for norm, other in zip(norms, norms[world:]):
        if (norm is None) != (other is None):
            raise Refused("raised.second_call", first=type(norm).__name__, second=type(other).__name__)
    return {
        "norm": norms[:world],
        "gradients": [[shard.grad for shard in each] for each in shards[:world]],
        "exchanges": [len(link.offers) for link in links],
    }


def _case(gradients: list[list[Tensor | None]], max_norm: float, missing: tuple[int, ...] = (2,)) -> Case:
    """Return a case in which a parameter without gradient has the shape `missing`."""
    shapes = [[missing if each is None else tuple(each.shape) for each in rank] for rank in gradients]
    return Case(gradients=gradients, shapes=shapes, max_norm=max_norm)


@clip_shards.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    three, four = (torch.tensor([n], dtype=torch.float64) for n in (3.0, 4.0))
    yield _case([[three], [four]], max_norm=1.0)
    yield _case([[signed(rng, 2, 3), None, signed(rng, 1)], [signed(rng, 1, 3), signed(rng, 2), signed(rng, 0)]], 2.0)
    yield _case([[signed(rng, 2), uniform(rng, 3, 2, 2)], [None, None], [signed(rng, 1), signed(rng, 0, 2, 2)]], 3.0)
    yield _case([[signed(rng, 2) / 10], [signed(rng, 2) / 10]], max_norm=5.0)
    yield _case([[torch.zeros(2, dtype=torch.float64), None], [torch.zeros(1, dtype=torch.float64)]], max_norm=1.0)
