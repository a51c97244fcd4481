"""Extra exercise: a hook registered in every step of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import hooks_on, linear


class Shift(nn.Module):
    """A model that adds bias and weight to its input.

    One tensor serves as the gradient of both.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(signed(rng, 3, 2)), nn.Parameter(signed(rng, 3, 2))

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.bias) + self.weight


@exercise(
    title=Text("Right in the first step", "Верен первый шаг"),
    kind="find the bug",
    difficulty=1,
    minutes=6,
    aspects=[
        aspect(
            "weights",
            1,
            en="In every step the gradient of `model.weight` is multiplied by `factor`, that of the bias is not.",
            ru="На каждом шаге градиент параметра `model.weight` умножен на `factor`, а градиент смещения — нет.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "hooks_left",
            1,
            en="No hook of yours stays; somebody else's does.",
            ru="Ни одного вашего хука не остаётся, а чужой остаётся.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "Print `len(model.weight._backward_hooks)` in the loop. What does the second step do with two hooks?",
            "Напечатайте в цикле `len(model.weight._backward_hooks)`. Что на втором шаге делают два хука?",
        ),
        Text(
            "One hook is enough for all steps. Where does it begin, and where does it end?",
            "На все шаги хватит одного хука. Где он начинается и где заканчивается?",
        ),
        Text.same("handle = model.weight.register_hook(...)\nfor x, y in batches:\n    ...\nhandle..."),
    ],
)
def train_damped(answer: Any, case: Case) -> dict[str, object]:
    others: list[float] = []
    other = case.model.weight.register_hook(lambda grad: others.append(grad.sum().item()))
    with weights_after_steps(case.optimizer) as weights:
        answer.train_damped(case.model, case.optimizer, case.batches, case.factor)
    with using_answer():
        stays = other.id in case.model.weight._backward_hooks
        left = {
            "hooks": hooks_on(case.model.parameters()) - stays,
            "other hook stays": stays,
            "runs of the other hook": len(others),
        }
    rates = [group["lr"] for group in case.optimizer.param_groups]
    return {"weights": weights, "hooks_left": left, "learning rates": rates}


@train_damped.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor, momentum in ((0.5, 0.0), (-2.0, 0.9)):
        model = linear(rng, 2, 1, bias=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=momentum)
        batches = [(signed(rng, 3, 2), signed(rng, 3, 1)) for _ in range(4)]
        yield Case(model=model, optimizer=optimizer, batches=batches, factor=factor)
    shift = Shift(rng)
    optimizer = torch.optim.SGD(shift.parameters(), lr=0.1)
    batches = [(signed(rng, 3, 2), signed(rng, 3, 2)) for _ in range(3)]
    yield Case(model=shift, optimizer=optimizer, batches=batches, factor=0.5)
