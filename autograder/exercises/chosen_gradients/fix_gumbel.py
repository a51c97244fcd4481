"""Exercise: a hard choice that is trained backwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("A choice, and the loss grows", "Выбор, с которым потери растут"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "values",
            0,
            en="The result is one-hot, and the 1 is at the largest noisy logit.",
            ru="Результат — one-hot вектор, и единица стоит там, где логит с шумом наибольший.",
        ),
        aspect(
            "gradient",
            2.5,
            en="The gradient is that of the softmax of the noisy logits at this temperature.",
            ru="Градиент такой же, как у softmax от логитов с шумом при этой температуре.",
        ),
        aspect(
            "apart",
            0.5,
            en="Another call changes no gradient of this one.",
            ru="Следующий вызов не меняет градиентов этого.",
            after=("values", "gradient"),
        ),
    ],
    hints=[
        Text(
            "The value of the last line is right. Which of its terms has a graph, and with which sign does it enter?",
            "Значение последней строки верно. У какого её слагаемого есть граф и с каким знаком оно входит?",
        ),
        Text(
            "Two copies of `soft` must cancel in the value. The one that is added keeps its graph, the one that is "
            "subtracted is a constant.",
            "В значении две копии `soft` должны сокращаться. У той, которую прибавляют, граф остаётся, а та, которую "
            "вычитают, — константа.",
        ),
        Text.same(
            "def fix_gumbel(logits, temperature, noise):\n"
            "    noisy = logits - torch.log(-torch.log(noise))\n"
            "    soft = (noisy / temperature).softmax(-1)\n"
            "    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)\n"
            "    return hard + ... - ..."
        ),
    ],
)
def fix_gumbel(answer: Any, case: Case) -> dict[str, object]:
    y = answer.fix_gumbel(case.logits, case.temperature, case.noise)
    with using_answer():
        gradient = _gradient(y, case)
    again = answer.fix_gumbel(case.logits, case.temperature, case.noise)
    other = answer.fix_gumbel((1 - case.logits.detach()).requires_grad_(), 3 * case.temperature, 1 - case.noise)
    with using_answer():
        return {
            "values": _values(y),
            "gradient": gradient,
            "apart": {"gradient": _gradient(again, case), "values of the other call": _values(other)},
        }


def _values(y: object) -> object:
    return y.round(decimals=9) if isinstance(y, Tensor) else y


def _gradient(y: object, case: Case) -> object:
    """Return the gradient of the logits, or a word where there is none."""
    if not isinstance(y, Tensor):
        return "no graph"
    if y.shape != case.logits.shape:
        return "another shape"
    return torch.autograd.grad(y, case.logits, case.v, allow_unused=True)[0] if y.requires_grad else "no graph"


@fix_gumbel.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape, temperature, falling in (((4, 3), 0.5, False), ((2, 2, 4), 2.0, False), ((3,), 1.5, True)):
        logits, noise = 0.5 * signed(rng, *shape), torch.rand(shape, generator=rng, dtype=torch.float64) * 0.9 + 0.05
        if falling:  # the last place is never chosen
            logits, noise = (each.sort(descending=True).values for each in (logits, noise))
        yield Case(
            logits=with_old_gradient(logits.requires_grad_()),
            temperature=temperature,
            noise=noise,
            v=signed(rng, *shape),
        )
