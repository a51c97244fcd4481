"""Extra exercise: the gradients of outputs that are changed in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import gradients, hooks_on, linear

Found = dict[str, list[Tensor]]


class Twice(nn.Module):
    """A model with in-place activations.

    One layer is called twice, one is not called.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.inner = nn.Sequential(linear(rng, 2, 2), nn.ReLU(inplace=True))
        self.idle = linear(rng, 2, 2)
        self.head = linear(rng, 2, 1, bias=True)
        self.slope = nn.LeakyReLU(0.1, inplace=True)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.slope(self.inner[0](self.inner(x) + x)))


def _registered(model: nn.Module) -> int:
    """Return the number of hooks on all modules and parameters of `model`."""
    registries = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    on_modules = sum(len(getattr(module, name)) for module in model.modules() for name in registries)
    return on_modules + hooks_on(model.parameters())


@exercise(
    title=Text("Gradients of outputs", "Градиенты выходов слоёв"),
    kind="complete",
    difficulty=3,
    minutes=12,
    aspects=[
        aspect(
            "outputs",
            2,
            en="For each `nn.Linear` there is a list of the gradients of its outputs, one for each call, in the order "
            "of the calls.",
            ru="Для каждого слоя `nn.Linear` есть список градиентов по его выходам, по одному на вызов, в порядке "
            "вызовов.",
        ),
        aspect(
            "parameters",
            0.5,
            en="`.grad` of the parameters is as after an ordinary pass.",
            ru="Поля `.grad` параметров такие же, как после обычного прохода.",
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
            "Хук на тензоре остаётся со значением, которое было до изменения на месте. Поставьте его в прямом хуке.",
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
    before = _registered(case.model)
    found = answer.output_gradients(case.model, case.x)
    with using_answer():
        parameters, left = gradients(case.model.parameters()), _registered(case.model) - before
        pairs = (
            [[str(name), list(each)] for name, each in sorted(found.items(), key=lambda item: str(item[0]))]
            if isinstance(found, dict)
            else found
        )
    return {"outputs": pairs, "parameters": parameters, "hooks_left": left}


@output_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=nn.Sequential(linear(rng, 2, 3), nn.Tanh(), linear(rng, 3, 2, bias=True)), x=signed(rng, 2, 2))
    yield Case(model=Twice(rng), x=signed(rng, 4, 2))


def _linears(model: nn.Module) -> dict[str, nn.Linear]:
    return {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}


def _watched(model: nn.Module, x: Tensor, watch: Callable[[list[Any], Tensor], object], found: Found) -> None:
    """Run a pass in which `watch(list, output)` sees every output of a linear layer."""
    handles = []
    for name, module in _linears(model).items():
        found[name] = []

        def hook(_: nn.Module, __: Any, output: Tensor, name: str = name) -> None:
            watch(found[name], output)

        handles.append(module.register_forward_hook(hook))
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()


@output_gradients.mistake(
    en="`retain_grad()` follows the tensor through the in-place change: what is kept is the gradient behind the next "
    "layer.",
    ru="`retain_grad()` следует за тензором через изменение на месте: сохраняется градиент уже после следующего слоя.",
)
def retains(model: nn.Module, x: Tensor) -> Found:
    outputs: Found = {}

    def keep(found: list[Any], output: Tensor) -> None:
        output.retain_grad()
        found.append(output)

    _watched(model, x, keep, outputs)
    return {name: [each.grad for each in kept] for name, kept in outputs.items()}  # type: ignore[misc]


@output_gradients.mistake(
    en="The gradients stand in the order in which they arrive. For a layer that is called twice, the last call comes "
    "first.",
    ru="Градиенты стоят в том порядке, в каком они приходят. У слоя, вызванного дважды, последний вызов идёт первым.",
)
def in_order_of_arrival(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, lambda each, output: output.register_hook(each.append), found)
    return found


@output_gradients.mistake(
    en="Only one gradient is kept for each layer, although a layer may be called more than once.",
    ru="Для каждого слоя сохранён только один градиент, хотя слой могут вызвать несколько раз.",
)
def keeps_one(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(
        model, x, lambda each, output: output.register_hook(lambda grad: each.__setitem__(slice(None), [grad])), found
    )
    return found


@output_gradients.mistake(
    en="A layer that was not called is missing. Its list is empty, but it is there.",
    ru="Слоя, который не вызывался, в словаре нет. Его список пуст, но быть должен.",
)
def leaves_out_idle_layers(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    _watched(model, x, _insert, found)
    return {name: [grad for (grad,) in each] for name, each in found.items() if each}


def _insert(found: list[Any], output: Tensor) -> None:
    """Reserve a place for the gradient of `output`, in a list of its own."""
    place: list[Tensor] = []
    found.append(place)
    output.register_hook(place.append)


@output_gradients.mistake(
    en="The hooks stay on the model: every later pass will run them.",
    ru="Хуки остались на модели: они будут срабатывать в каждом следующем проходе.",
)
def leaves_the_hooks(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {}
    for name, module in _linears(model).items():
        found[name] = []
        module.register_forward_hook(lambda _, __, output, name=name: _insert(found[name], output))  # type: ignore[misc]
    model(x).sum().backward()
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(
    en="The gradients of the inputs were taken, not those of the outputs.",
    ru="Взяты градиенты по входам слоёв, а не по выходам.",
)
def takes_the_inputs(model: nn.Module, x: Tensor) -> Found:
    found: Found = {}
    layers = _linears(model)

    def of_input(each: list[Any], output: Tensor) -> None:
        name = next(name for name in layers if found[name] is each)
        place: list[Tensor] = []
        each.append(place)
        output.register_hook(lambda grad: place.append(grad @ layers[name].weight))

    _watched(model, x, of_input, found)
    return {name: [grad for (grad,) in each] for name, each in found.items()}


@output_gradients.mistake(
    en="All modules are in the dict, not only the `nn.Linear` layers.",
    ru="В словаре все модули, а не только слои `nn.Linear`.",
)
def takes_every_module(model: nn.Module, x: Tensor) -> Found:
    found: dict[str, list[list[Tensor]]] = {}
    _watched(model, x, _insert, found)  # type: ignore[arg-type]
    every: Found = {name: [] for name, _ in model.named_modules()}
    return every | {name: [grad for (grad,) in each] for name, each in found.items()}  # type: ignore[return-value]
