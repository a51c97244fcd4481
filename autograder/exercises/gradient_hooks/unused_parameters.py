"""Exercise: parameters for which a bucket would wait in vain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import NAMES_OF_PARAMETERS, OF_PARAMETERS
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import gradients, hooks_on, linear


class Parts(nn.Module):
    """A model with parameters that are used in several ways.

    `zero` has a gradient of zeros. `detached` and the layer `spare` have none, `rare` has one on request. The layer
    `again` has the weight of `spare`.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.spare = linear(rng, 2, 2, bias=True)
        self.layer = linear(rng, 2, 2, bias=True)
        self.zero = nn.Parameter(signed(rng, 2))
        self.detached = nn.Parameter(signed(rng, 2))
        self.frozen = nn.Parameter(signed(rng, 2), requires_grad=False)
        self.head = linear(rng, 2, 1)
        self.rare = linear(rng, 1, 1)
        self.again = nn.Linear(2, 2, bias=False, dtype=torch.float64)
        self.again.weight = self.spare.weight

    def forward(self, x: Tensor, rare: bool) -> Any:
        h = self.layer(x) * self.frozen + 0 * self.zero + self.detached.detach()
        y = self.head(h.tanh())
        return self.rare(y) if rare else y


@exercise(
    title=Text("Who would be waited for in vain", "Каких параметров не дождаться"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "names",
            2,
            en="The list holds the names of the trainable parameters that get no gradient, in the model's order.",
            ru="В списке — имена обучаемых параметров, к которым градиент не придёт, в порядке модели.",
            entries=(NAMES_OF_PARAMETERS,),
        ),
        aspect(
            "untouched",
            1,
            en="Every `.grad` is as it was, no hook of yours stays, and `loss.backward()` can still be called.",
            ru="Все поля `.grad` прежние, ваших хуков не остаётся, и `loss.backward()` по-прежнему можно вызвать.",
            entries=(OF_PARAMETERS,),
        ),
    ],
    hints=[
        Text(
            "A gradient of zeros and no gradient: which function tells the two apart without filling `.grad`?",
            "Нулевой градиент и отсутствие градиента: какая функция различает их и не заполняет `.grad`?",
        ),
        Text(
            "`torch.autograd.grad` has the argument `allow_unused`. Frozen parameters it does not accept. And what "
            "happens to the graph?",
            "У функции `torch.autograd.grad` есть аргумент `allow_unused`. Замороженных параметров она не принимает. "
            "А что станет с графом?",
        ),
        Text.same(
            "trained = {name: p for name, p in model.named_parameters() if ...}\n"
            "found = torch.autograd.grad(loss, ..., allow_unused=True, retain_graph=...)\nreturn [...]"
        ),
    ],
)
def unused_parameters(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    hooks = hooks_on(parameters)
    names = answer.unused_parameters(case.model, case.loss)
    with using_answer():
        after = gradients(parameters)
        left = hooks_on(parameters) - hooks
        flags = [parameter.requires_grad for parameter in parameters]
        try:
            case.loss.backward()
            alive = True
        except RuntimeError:
            alive = False
    return {
        "names": list(names) if isinstance(names, tuple) else names,
        "untouched": {
            ".grad of the parameters": after,
            "flags of the parameters": flags,
            "backward can be called": alive,
            "hooks": left,
        },
    }


@unused_parameters.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rare in (False, True):
        model = Parts(rng)
        for parameter in (model.spare.weight, model.layer.weight, model.zero):
            parameter.grad = torch.full_like(parameter, 3.0)
        yield Case(model=model, loss=model(signed(rng, 3, 2), rare).square().mean())
