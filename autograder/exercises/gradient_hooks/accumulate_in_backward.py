"""Exercise: steps inside backward, at the end of a window only."""

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


class _Window:
    """A watcher of the moments at which parameters are stepped.

    Looks at all parameters that a backward pass has reached, whenever it reaches another one and at its end.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self.before: dict[str, Tensor] = {}
        self.reached: list[str] = []
        self.late: dict[str, None] = {}  # the names of parameters, as an ordered set
        for name, parameter in self.trained.items():
            parameter.register_hook(lambda _, name=name: self._look(name))  # type: ignore[misc]

    def _look(self, name: str) -> None:
        if not self.reached:  # the engine looks once more at the end of the pass
            torch.autograd.Variable._execution_engine.queue_callback(lambda: self._look(""))  # type: ignore[attr-defined]
        late = [each for each in self.reached if torch.equal(self.trained[each].detach(), self.before[each])]
        self.late |= dict.fromkeys(late)
        self.reached += [name] if name else []

    def run(self, backward: Any, x: Tensor, last: bool) -> bool | list[str]:
        """Run a pass; return whether each parameter was stepped before the next one was reached.

        If that is true of some parameters only, the names of the others are returned.
        """
        self.before = {name: each.detach().clone() for name, each in self.trained.items()}
        self.reached, self.late = [], {}
        backward(self.model(x).square().mean(), last)
        return list(self.late) if 0 < len(self.late) < len(self.reached) else not self.late


@exercise(
    title=Text("Steps at the end of a window", "Шаги в конце окна"),
    kind="design",
    difficulty=3,
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
            en="In the last pass of a window each parameter is stepped as soon as its gradient is complete; in no other "
            "pass is there a step.",
            ru="В последнем проходе окна шаг по каждому параметру делается, как только готов его градиент; в других "
            "проходах шагов нет.",
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
            inside[f"steps inside pass {number}"] = window.run(backward, x, last)
            for name, parameter, gradient in zip(names, parameters, gradients(parameters)):
                weights[f"{name} after pass {number}"] = parameter.detach().clone()
                held[f"gradient of {name} after pass {number}"] = gradient
    return {"weights": weights, "gradients": held, "inside": inside}


@accumulate_in_backward.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    model = nn.Sequential(linear(rng, 2, 3), nn.Tanh(), linear(rng, 3, 1, bias=True))
    batches = [signed(rng, 2, 2) for _ in range(5)]
    yield Case(model=model, make_optimizer=SGD, batches=batches, last=[False, False, True, False, True])
    batches = [signed(rng, rows, 3) for rows in (3, 2, 2, 2, 3, 3, 2)]
    last = [False, True, False, True, True, False, True]
    branches = Branches(rng)
    rare = branches.rare
    del branches.rare
    branches.rare = rare  # the layer that a pass may not use comes last
    yield Case(model=branches, make_optimizer=ADAM, batches=batches, last=last)
