"""Extra exercise: steps inside backward, at the end of a window only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Branches, gradients, linear
from .step_in_backward import ADAM, SGD


class _Window(nn.Module):
    """A watcher of the moment at which parameters are stepped.

    Looks at the last parameter when a backward pass reaches the first one.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.before: Tensor | None = None
        self.moved: list[list[bool]] = []  # by pass
        self.trained[0].register_hook(self._look)

    def _look(self, _: Tensor) -> None:
        self.moved[-1].append(not torch.equal(self.trained[-1].detach(), self.before))  # type: ignore[arg-type]

    def run(self, backward: Any, x: Tensor, last: bool) -> None:
        self.before = self.trained[-1].detach().clone()
        self.moved.append([])
        backward(self.model(x).square().mean(), last)


@exercise(
    title=Text("Steps at the end of a window", "Шаги в конце окна"),
    kind="design",
    difficulty=3,
    minutes=15,
    aspects=[
        aspect(
            "weights",
            2,
            en="After each pass the parameters are those of an ordinary loop with one step for each window.",
            ru="После каждого прохода параметры такие же, как в обычном цикле с одним шагом на окно.",
        ),
        aspect(
            "gradients",
            1,
            en="Inside a window `.grad` holds the sum so far; after its last pass every `.grad` is None.",
            ru="Внутри окна в `.grad` лежит накопленная сумма, а после последнего прохода во всех полях `.grad` — None.",
            after=(),
        ),
        aspect(
            "inside",
            1,
            en="In the last pass of a window the steps are made inside the pass, in no other pass.",
            ru="Шаги делаются внутри последнего прохода окна и ни в каком другом.",
        ),
    ],
    hints=[
        Text(
            "The hook has to know whether this pass is the last one of its window. Who can tell it?",
            "Хук должен знать, последний ли это проход окна. Кто ему об этом скажет?",
        ),
        Text(
            "And a parameter that an earlier pass of the window used, but not the last one: does its hook run?",
            "А если параметр участвовал в одном из прежних проходов окна, но не в последнем: сработает ли его хук?",
        ),
        Text(
            "ending = False\ndef hook(p):\n    if ending:\n        ...\ndef backward(loss, last):\n    nonlocal ending\n"
            "    ending = last\n    loss.backward()\n    ...  # who has not stepped yet?",
            "ending = False\ndef hook(p):\n    if ending:\n        ...\ndef backward(loss, last):\n    nonlocal ending\n"
            "    ending = last\n    loss.backward()\n    ...",
        ),
    ],
)
def accumulate_in_backward(answer: Any, case: Case) -> dict[str, object]:
    window = _Window(case.model)
    names, parameters = zip(*case.model.named_parameters())
    backward = answer.accumulate_in_backward(case.model, case.make_optimizer)
    weights: dict[str, object] = {}
    held: dict[str, object] = {}
    inside: dict[str, object] = {}
    with using_answer():
        for number, (x, last) in enumerate(zip(case.batches, case.last), 1):
            window.run(backward, x, last)
            for name, parameter, gradient in zip(names, parameters, gradients(parameters)):
                weights[f"{name} after pass {number}"] = parameter.detach().clone()
                held[f"gradient of {name} after pass {number}"] = gradient
            looks = window.moved[-1]
            inside[f"steps inside pass {number}"] = looks[0] if len(looks) == 1 else looks
    return {"weights": weights, "gradients": held, "inside": inside}


@accumulate_in_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = nn.Sequential(linear(rng, 2, 3), nn.Tanh(), linear(rng, 3, 1, bias=True))
    batches = [signed(rng, 2, 2) for _ in range(5)]
    yield Case(model=model, make_optimizer=SGD, batches=batches, last=[False, False, True, False, True])
    batches = [signed(rng, rows, 3) for rows in (3, 2, 2, 2, 3, 3, 2)]
    last = [False, True, False, True, True, False, True]
    yield Case(model=Branches(rng), make_optimizer=ADAM, batches=batches, last=last)
