"""Exercise: a training loop inside one autocast region."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import linear_layer, uniform
from autograder.checking.labels import OF_PARAMETERS, Entries
from autograder.language import Text

_LOSSES = Entries(Text("loss of step {n}", "потери на шаге {n}"), Text("losses", "значений"))


@exercise(
    title=Text("A loss that does not fall", "Потери, которые не падают"),
    kind="find the bug",
    difficulty=2,
    rtol=0.05,
    aspects=[
        aspect(
            "dtypes",
            0,
            en="The layers compute in bfloat16, and the weights are in float32 all the time.",
            ru="Слои считают в bfloat16, а веса всё время остаются в float32.",
        ),
        aspect(
            "losses",
            2,
            en="The loss of each step is that of the weights at that step, as a Python number.",
            ru="Потери на каждом шаге вычислены с весами этого шага; это числа Python.",
            entries=(_LOSSES,),
        ),
        aspect(
            "weights",
            1,
            en="After the call the weights are those of plain descent; frozen ones are as before.",
            ru="После вызова веса такие, какими их делает обычный спуск; замороженные не изменились.",
            entries=(OF_PARAMETERS,),
        ),
    ],
    hints=[
        Text(
            "The weights change, and the loss does not. Which numbers does the second forward pass multiply by?",
            "Веса меняются, а потери — нет. На какие числа умножают во втором прямом проходе?",
        ),
        Text(
            "The bfloat16 copy of a weight lives until the outermost region ends. Is yours the outermost one?",
            "Копия веса в bfloat16 живёт, пока не закончится самая внешняя область. Внешняя ли ваша?",
        ),
        Text.same(
            'for x, y in batches:\n    with torch.autocast("cpu", torch.bfloat16, cache_enabled=...):\n'
            "        output = model(x)\n    loss = ...\n    loss.backward()"
        ),
    ],
    why=Why(
        Text(
            "Why does one region around the whole loop compute with old weights?",
            "Почему внутри одной области вокруг всего цикла потери вычисляются со старыми весами?",
        ),
        Text(
            "A weight is converted at its first use, and the copy is kept until the outermost region ends. A step of the "
            "optimizer changes the weight, not the copy.",
            "Вес преобразуется при первом использовании, и копия хранится до конца самой внешней области. Шаг "
            "оптимизатора меняет вес, а не копию.",
        ),
    ),
)
def fix_region(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    layers, weights = set[str](), set[str]()
    met: list[Tensor] = []

    def note_dtypes(layer: nn.Module, given: Any, result: Tensor) -> None:
        layers.add(str(result.dtype))
        met.append(torch.cat([p.detach().double().flatten() for p in parameters]))
        weights.update(str(p.dtype) for p in parameters)  # conversions back and forth show only during the pass

    linear = [layer for layer in case.model.modules() if isinstance(layer, nn.Linear)]
    handles = [layer.register_forward_hook(note_dtypes) for layer in linear]
    around = torch.autocast("cpu", torch.bfloat16, enabled=False) if case.in_region else nullcontext()
    try:
        with around:
            losses = answer.fix_region(case.model, case.batches, case.rate)
    finally:
        for handle in handles:
            handle.remove()
    weights.update(str(p.dtype) for p in case.model.parameters())
    statistics = [b for b in case.model.buffers() if b.dim()]  # they move in training mode alone
    after = [t.detach() for t in (*case.model.parameters(), *statistics)]
    kinds = {"layers": ", ".join(sorted(layers)), "weights": sorted(weights)}
    moved = any(not torch.equal(*pair) for pair in pairwise(met))  # tells old copies from weights that stand still
    return {"dtypes": kinds, "losses": losses, "weights": after, "moved between passes": moved}


@fix_region.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def numbers(*shape: int) -> Tensor:
        return uniform(rng, *shape).float()

    def batches(count: int, inputs: int, goal: float) -> list[tuple[Tensor, Tensor]]:
        return [(numbers(4, inputs), goal + numbers(4, 1)) for _ in range(count)]

    yield Case(model=linear_layer(numbers(1, 3)), batches=batches(4, 3, 0.0), rate=0.03, in_region=False)
    model = nn.Sequential(linear_layer(numbers(3, 2), numbers(3)), nn.ReLU(), linear_layer(numbers(1, 3)))
    model[0].bias.requires_grad_(False)
    yield Case(model=model, batches=batches(3, 2, 3.0), rate=0.003, in_region=True)
    tied = linear_layer(numbers(2, 2) / 2)  # used twice, a layer whose mode counts, and one that nothing uses
    model = nn.Sequential(tied, nn.ReLU(), tied, nn.BatchNorm1d(2, affine=False), linear_layer(numbers(1, 2)))
    model.register_module("spare", nn.Identity())
    yield Case(model=model.eval(), batches=batches(5, 2, 2.0), rate=0.004, in_region=False)
