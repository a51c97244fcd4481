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


def _kind(returned: object) -> str:
    """Return what came back in place of a pair of a model and an input."""
    if isinstance(returned, nn.Module):
        return "module"
    pair = isinstance(returned, (tuple, list)) and len(returned) == 2
    swapped = pair and _answer_parts(returned[::-1]) is not None  # type: ignore[index]
    return "swapped" if swapped else type(returned).__name__


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
            en="The full backward hook on `layer` stays there and does not run.",
            ru="Полный обратный хук на `layer` остаётся и не срабатывает.",
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
        return {"pair": False, "learns": False, "silent": False, "result": _kind(returned)}
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
        stays = handle.id in layer._backward_hooks
        handle.remove()
        received = {"nothing" if grad is None else "numbers" if grad.any() else "zeros" for grad in found}
    return {
        "pair": True,
        "learns": received == {"numbers"},
        "silent": not calls and stays,
        "differentiable": differentiable,
        "result": result if not differentiable else "Tensor",
        "received": sorted(received),
        "frozen": not any(parameter.requires_grad for parameter in layer.parameters()),
        "input": isinstance(x, Tensor) and x.requires_grad if received == {"numbers"} and stays else None,
        "hook taken off": not stays,
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
    en="No parameter of `layer` gets a gradient at all: no path along which gradients flow leads from the result to it.",
    ru="Ни один параметр модуля `layer` не получает градиента: пути, по которому градиент дошёл бы от результата до "
    "него, нет.",
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


@silent_hook.mistake(
    en="A gradient does come to every parameter of `layer`, but it consists of zeros.",
    ru="Градиент доходит до каждого параметра модуля `layer`, но состоит из одних нулей.",
)
def learns_zeros() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            return 0 * self.layer.forward(x)

    return Model(), _input()


class _Biased(nn.Module):
    """A linear layer with a bias, which the model does not call."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Any:
        return self.layer.forward(x)


@silent_hook.mistake(
    en="A part of the parameters of `layer` gets a gradient of zeros. All of them have to learn.",
    ru="До части параметров модуля `layer` доходит нулевой градиент, а обучаться должны все.",
)
def learns_in_part() -> tuple[nn.Module, Tensor]:
    return _Biased(), torch.zeros(1, 2)


@silent_hook.mistake(
    en="A part of the parameters of `layer` gets no gradient. All of them have to learn.",
    ru="Часть параметров модуля `layer` не получает градиента, а обучаться должны все.",
)
def leaves_a_part_out() -> tuple[nn.Module, Tensor]:
    class Model(_Biased):
        def forward(self, x: Tensor) -> Any:
            return nn.functional.linear(x, self.layer.weight)

    return Model(), _input()


@silent_hook.mistake(
    en="The model alone comes back. The input belongs to the pair.",
    ru="Возвращена только модель, а в паре нужен и вход.",
)
def returns_the_model_alone() -> nn.Module:
    return _Biased()


@silent_hook.mistake(
    en="An in-place change of the output makes torch raise an error when the module has a full backward hook. The hook "
    "does not run, but nothing is learned either.",
    ru="Если на модуле полный обратный хук, то при изменении выхода на месте torch завершается ошибкой. Хук не "
    "срабатывает, но и обучения нет.",
)
def edits_the_output() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            return nn.functional.relu(self.layer(x), inplace=True)

    return Model(), _input()


@silent_hook.mistake(
    en="The pair is in the wrong order: the model comes first, then the input.",
    ru="Порядок в паре неверный: сначала должна идти модель, потом вход.",
)
def swaps_the_pair() -> tuple[Tensor, nn.Module]:
    return _input(), _Biased()


@silent_hook.mistake(
    en="The parameters of `layer` do not require grad, so no gradient comes to them.",
    ru="Параметры модуля `layer` не требуют градиента, поэтому градиент до них не доходит.",
)
def freezes_the_layer() -> tuple[nn.Module, Tensor]:
    return _Model().requires_grad_(False), _input().requires_grad_()


@silent_hook.mistake(*silent_hook.mistakes["freezes_the_layer"].says)
def freezes_everything() -> tuple[nn.Module, Tensor]:
    return _Model().requires_grad_(False), _input()


@silent_hook.mistake(
    en="The model takes the hook off. A hook that is no longer there does not run, but that is no counter-example.",
    ru="Модель снимает хук. Хук, которого уже нет, не срабатывает, но это не контрпример.",
)
def takes_the_hook_off() -> tuple[nn.Module, Tensor]:
    class Model(_Model):
        def forward(self, x: Tensor) -> Any:
            self.layer._backward_hooks.clear()
            return self.layer(x)

    return Model(), _input()
