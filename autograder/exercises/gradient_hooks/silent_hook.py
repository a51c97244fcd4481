"""Exercise: a module that learns without its full backward hook."""

from __future__ import annotations

from typing import Any

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
        Text.same(
            "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layer = torch.nn.Linear(2, 2, bias=False)\n    def forward(self, x):\n        return ..."
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
        present: list[bool] = []
        watch = layer.register_forward_pre_hook(lambda *_: present.append(handle.id in layer._backward_hooks))
        model.zero_grad()
        y = model(x)
        watch.remove()
        result = type(y).__name__
        differentiable = isinstance(y, Tensor) and y.requires_grad
        if differentiable:
            y.sum().backward()
        found = [parameter.grad for parameter in layer.parameters()]
        stays = handle.id in layer._backward_hooks and all(present)
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
