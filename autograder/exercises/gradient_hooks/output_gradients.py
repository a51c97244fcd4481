"""Exercise: the gradients of outputs that are changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, with_old_gradient
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import gradients, hooks_on, linear


class Head(nn.Linear):
    """A linear layer of a class of its own."""


class Mix(nn.Module):
    """A product with a matrix `weight`, which is no linear layer."""

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(signed(rng, 2, 2))

    def forward(self, x: Tensor) -> Any:
        return x @ self.weight


def _pass_on(module: nn.Module, inputs: object, output: object) -> None:
    """Leave the output as it is, as somebody else's forward hook."""


class Twice(nn.Module):
    """A model with in-place activations.

    One layer is called twice, one is not called, and one is of a subclass. A module of another kind has a matrix
    `weight`, too.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.inner = nn.Sequential(linear(rng, 2, 2), nn.ReLU(inplace=True))
        self.mix = Mix(rng)
        self.idle = linear(rng, 2, 2)
        self.head = Head(2, 1, dtype=torch.float64)
        self.head.load_state_dict(linear(rng, 2, 1, bias=True).state_dict())
        self.slope = nn.LeakyReLU(0.1, inplace=True)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.slope(self.inner[0](self.inner(x) + self.mix(x))))


def _registered(model: nn.Module) -> int:
    """Return the number of hooks on all modules and parameters of `model`."""
    registries = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    on_modules = sum(len(getattr(module, name)) for module in model.modules() for name in registries)
    return on_modules + hooks_on(model.parameters())


@exercise(
    title=Text("Gradients of outputs", "Градиенты выходов слоёв"),
    kind="complete",
    difficulty=3,
    aspects=[
        aspect(
            "outputs",
            2,
            en="For each `nn.Linear` there is a list of the gradients of its outputs, one for each call, in the order "
            "of the calls.",
            ru="Для каждого слоя `nn.Linear` есть список градиентов по его выходам, по одному на вызов, в порядке "
            "вызовов.",
            entries=(Entries(Text("call {n}", "вызов {n}"), Text("calls", "вызовов")),),
        ),
        aspect(
            "parameters",
            0.5,
            en="`.grad` of the parameters is as after an ordinary pass, which adds to what was there.",
            ru="В `.grad` параметров, как после обычного прохода, новые градиенты прибавлены к прежним.",
            after=(),
        ),
        aspect(
            "hooks_left",
            0.5,
            en="No hook of yours stays on the model.",
            ru="Ни одного вашего хука на модели не остаётся.",
        ),
    ],
    hints=[
        Text(
            "A full backward hook makes torch refuse the in-place layer behind it. Which hook sees the output while it "
            "is still fresh?",
            "С полным обратным хуком torch не допускает слоя, который меняет выход на месте. Какой хук видит выход, "
            "пока его никто не изменил?",
        ),
        Text(
            "A hook on a tensor stays with the value from before the in-place change. Register it in a forward hook.",
            "Хук на тензоре привязан к значению до изменения на месте. Поставьте его внутри хука прямого прохода.",
        ),
        Text(
            "def forward_hook(module, inputs, output):\n    ...  # a place in the list, then output.register_hook(...)\n"
            "handles = [...]\ntry:\n    model(x).sum().backward()\nfinally:\n    ...",
            "def forward_hook(module, inputs, output):\n    ...  # output.register_hook(...)\n"
            "handles = [...]\ntry:\n    model(x).sum().backward()\nfinally:\n    ...",
        ),
    ],
)
def output_gradients(answer: Any, case: Case) -> dict[str, object]:
    before, parameters = _registered(case.model), dict(case.model.named_parameters())
    found = answer.output_gradients(case.model, case.x)
    with using_answer():
        left = _registered(case.model) - before
        held = {f"{name}.grad": each for name, each in zip(parameters, gradients(parameters.values()))}
        lists = {name: _listed(each) for name, each in found.items()} if isinstance(found, dict) else found
    return {"outputs": {"result": lists}, "parameters": held, "hooks_left": left}


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


@output_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=nn.Sequential(linear(rng, 2, 3), nn.Tanh(), linear(rng, 3, 2, bias=True)), x=signed(rng, 2, 2))
    model = Twice(rng)
    for parameter in model.parameters():
        with_old_gradient(parameter)
    model.inner[0].register_forward_hook(_pass_on)
    yield Case(model=model, x=signed(rng, 4, 2))
    yield Case(model=linear(rng, 3, 2, bias=True), x=signed(rng, 2, 3))
