"""Extra exercise: a module that learns without its full backward hook."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text


def _answer_parts(returned: object) -> tuple[nn.Module, Any] | None:
    """Return model and input if `returned` is such a pair, and the model has a module `layer`. Else None."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        return None
    model, x = returned
    layer = getattr(model, "layer", None)
    if isinstance(model, nn.Module) and isinstance(layer, nn.Module) and list(layer.parameters()):
        return model, x
    return None


@exercise(
    title=Text("A hook that stays silent", "Хук, который молчит"),
    kind="write the counter-example",
    difficulty=3,
    minutes=8,
    aspects=[
        aspect(
            "pair",
            0,
            en="A pair comes back: a model with a module `layer` that has parameters, and an input.",
            ru="Возвращается пара: модель с модулем `layer`, у которого есть параметры, и вход.",
        ),
        aspect(
            "learns",
            1,
            en="Every parameter of `layer` gets a gradient that is not all zeros.",
            ru="Каждый параметр модуля `layer` получает градиент, в котором не одни нули.",
        ),
        aspect(
            "silent",
            1,
            en="The full backward hook on `layer` does not run.",
            ru="Полный обратный хук на `layer` не срабатывает.",
            after=("pair", "learns"),
        ),
    ],
    hints=[
        Text(
            "The hook is set up when the module is called. How can its parameters be used without that?",
            "Хук готовится при вызове модуля. Как использовать его параметры без такого вызова?",
        ),
        Text(
            "`torch.nn.functional.linear(x, layer.weight)`, `layer.forward(x)`, weights that two modules share.",
            "`torch.nn.functional.linear(x, layer.weight)`, `layer.forward(x)`, веса, общие для двух модулей.",
        ),
        Text(
            "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = torch.nn.Linear(2, 2, bias=False)\n    def forward(self, x):\n        return ...",
            "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = torch.nn.Linear(2, 2, bias=False)\n    def forward(self, x):\n        return ...",
        ),
    ],
)
def silent_hook(answer: Any, case: Case) -> dict[str, object]:
    returned = answer.silent_hook()
    parts = _answer_parts(returned)
    if parts is None:
        return {"pair": False, "learns": False, "silent": False, "result": type(returned).__name__}
    model, x = parts
    layer: Any = model.layer
    calls: list[int] = []
    with using_answer():
        handle = layer.register_full_backward_hook(lambda *_: calls.append(1))
        model.zero_grad()
        y = model(x)
        result = type(y).__name__
        differentiable = isinstance(y, Tensor) and y.requires_grad
        if differentiable:
            y.sum().backward()
        found = [parameter.grad for parameter in layer.parameters()]
        handle.remove()
    return {
        "pair": True,
        "learns": all(grad is not None and bool(grad.any()) for grad in found),
        "silent": not calls,
        "differentiable": differentiable,
        "result": result if not differentiable else "Tensor",
        "some": any(grad is not None for grad in found),
        "input": isinstance(x, Tensor) and x.requires_grad,
    }


class _Model(nn.Module):
    """A model of one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2, bias=False)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


def _input() -> Tensor:
    return torch.tensor([[1.0, 2.0]])


@silent_hook.mistake(
    en="The module is called in the usual way, and the hook runs. It does so even if no input requires grad.",
    ru="Модуль вызывается обычным образом, и хук срабатывает, даже если ни один вход не требует градиента.",
)
def input_without_grad() -> tuple[nn.Module, Tensor]:
    return _Model(), _input()


@silent_hook.mistake(
    en="The module is called in the usual way and its input requires grad: that is what the hook is made for.",
    ru="Модуль вызывается обычным образом, и его вход требует градиента: именно для этого хук и сделан.",
)
def input_with_grad() -> tuple[nn.Module, Tensor]:
    return _Model(), _input().requires_grad_()


@silent_hook.mistake(
    en="The module gets no gradient at all, under `no_grad()` or because the result does not depend on it.",
    ru="Модуль вообще не получает градиента: он вычисляется под `no_grad()`, или результат от него не зависит.",
)
def learns_nothing() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            with torch.no_grad():
                h = self.layer(x)
            return x + h

    return Model(), _input().requires_grad_()


@silent_hook.mistake(
    en="What comes back from the model cannot be differentiated, so no hook runs, and nothing is learned.",
    ru="Результат модели нельзя дифференцировать, поэтому хук не срабатывает, но и обучения нет.",
)
def result_without_graph() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            return self.layer(x).detach()

    return Model(), _input()


@silent_hook.mistake(
    en="The model returns no tensor, so the check cannot differentiate its result.",
    ru="Модель возвращает не тензор, и проверка не может продифференцировать результат.",
)
def returns_a_dict() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            return {"y": self.layer(x)}

    return Model(), _input()


@silent_hook.mistake(
    en="There is no module called `layer` with parameters in the model.",
    ru="В модели нет модуля `layer` с параметрами.",
)
def without_a_layer() -> tuple[nn.Module, Tensor]:
    return nn.Linear(2, 2), _input()
