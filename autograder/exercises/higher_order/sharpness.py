"""Exercise: the largest curvature of a loss, by Hessian products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import recording_products
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradients
from autograder.checking.labels import CALLS_AND_PASSES, LARGEST_TENSOR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import Ops, counting_ops

from .common import count_passes, is_as_before, linear, release, state_of, tanh_net, untouched


class WithSpare(torch.nn.Module):
    """A linear layer beside a parameter that is never used."""

    def __init__(self, layer: torch.nn.Linear, spare: Tensor) -> None:
        super().__init__()
        self.spare = torch.nn.Parameter(spare)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x).tanh()
        return output


@exercise(
    title=Text("The largest curvature", "Наибольшая кривизна"),
    kind="design",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "result",
            1.5,
            en="The pair holds the length of the last product and the unit vector after it.",
            ru="В паре — длина последнего произведения и единичный вектор после него.",
        ),
        untouched(0.5),
        aspect(
            "passes",
            0.5,
            en="Calls of the model and backward passes together are at most `steps` + 2.",
            ru="Вызовов модели и обратных проходов вместе не больше `steps` + 2.",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "largest",
            0.5,
            en="No new tensor has more than 4n elements, for n weights.",
            ru="При n весах ни в одном новом тензоре нет больше 4n элементов.",
            measured=LARGEST_TENSOR,
        ),
    ],
    hints=[
        Text(
            "The weights stay where they are during all steps. Which of the passes is therefore the same in each?",
            "Веса за все шаги не меняются. Какой из проходов поэтому на каждом шаге один и тот же?",
        ),
        Text(
            "Compute `g` once, with a graph. Each product is one backward pass through it, if the graph is kept. `v` "
            "must be a plain vector without a graph.",
            "Вычислите `g` один раз, с графом. Каждое произведение — один обратный проход по этому графу, если граф "
            "сохраняется. У вектора `v` графа быть не должно.",
        ),
        Text.same(
            "g = torch.autograd.grad(loss, weights, create_graph=True, ...)\n"
            "flat = torch.cat([part.flatten() for part in g])\n"
            "for _ in range(steps):\n"
            "    product = torch.autograd.grad(flat, weights, v, retain_graph=True, ...)\n"
            "    ..."
        ),
    ],
    why=Why(
        Text(
            "Why does multiplying by H again and again find the largest curvature?",
            "Почему многократное умножение на H находит наибольшую кривизну?",
        ),
        Text(
            "Each product stretches the part of `v` along an eigenvector by the eigenvalue. Where this is "
            "largest in magnitude, the part grows most, and in the end the others hardly count.",
            "Составляющая `v` вдоль собственного вектора каждый раз умножается на собственное значение. Быстрее "
            "всех растёт та, у которой оно наибольшее по модулю, и остальные в конце концов становятся незаметны.",
        ),
    ),
)
def sharpness(answer: Any, case: Case) -> dict[str, object]:
    model, before = case.model, state_of(case.model)
    ops, of_counted, by_hand = Ops(), None, 0
    try:
        with count_passes(model) as passes:
            found = answer.sharpness(model, case.x, case.y, case.v.clone(), case.steps)
        kept = is_as_before(model, before)
        result = _named(found)
        # A run of its own: torch 2.13 crashes in a dispatch mode where it else raises an error (jvp of grad of mse_loss).
        if case.counted is not None:
            with recording_products() as of_one_call:
                model(case.x)
            with counting_ops() as ops, recording_products() as products:
                counted = answer.sharpness(model, case.counted, case.y, case.v.clone(), case.steps)
            of_counted = _named(counted)
            by_hand = len(products) // (8 * len(of_one_call))  # more than any pass needs: a walk by hand is no pass
    finally:
        release(model)
    return {
        "result": result,
        "untouched": kept,
        "passes": AtMost(limit=case.steps + 2, used=max(passes.total, by_hand)),
        "largest": AtMost(limit=4 * len(case.v), used=ops.largest, of=of_counted),
        "many_passes": passes.total >= len(case.v),
        "calls": passes.calls,
    }


def _named(found: Any) -> dict[str, object]:
    with using_answer():
        length, v = found
        return {"length": float(length), "v": v}


@sharpness.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = with_old_gradients(tanh_net(rng, 3, 4))
    case = _case(rng, model, 3, 3)
    case.counted = signed(rng, *case.x.shape)
    yield case
    model = tanh_net(rng, 2, 3)
    model[0].weight.requires_grad_(False)
    model.eval()
    yield _case(rng, model, 2, 2)
    case = _case(rng, WithSpare(linear(rng, 3, 1), signed(rng, 2)), 3, 3)
    with torch.no_grad():
        case.y = -5 * case.model(case.x).sign()  # the eigenvalue with the largest magnitude is negative
    yield case


def _case(rng: torch.Generator, model: torch.nn.Module, features: int, steps: int) -> Case:
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    v = signed(rng, count)
    x, y = signed(rng, 6, features), signed(rng, 6, 1)
    return Case(model=model, x=x, y=y, v=v / v.norm(), steps=steps, counted=None)
