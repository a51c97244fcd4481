"""Exercise: a backward pass inside a backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught, error_kind
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

_GRADIENTS = Entries(
    (
        Text("gradient of the input", "градиент входа"),
        Text("row 1 of a Jacobian, `retain_graph=True`", "строка 1 матрицы Якоби, `retain_graph=True`"),
        Text("row 2 of a Jacobian, `retain_graph=True`", "строка 2 матрицы Якоби, `retain_graph=True`"),
    ),
    Text("gradients", "градиентов"),
)


@exercise(
    title=Text("A pass inside the pass", "Проход внутри прохода"),
    kind="complete",
    asks="Recompute",
    asks_for="class",
    difficulty=3,
    aspects=[
        aspect(
            "value",
            1,
            en="The result is `f(x)`, with a graph behind it.",
            ru="Результат — это `f(x)`, и за ним стоит граф.",
        ),
        aspect(
            "calls",
            1,
            en="`f` runs once in the forward pass, with recording off, and once in the backward pass, with recording on.",
            ru="Функция `f` выполняется один раз в прямом проходе, без записи, и один раз в обратном, с записью.",
            entries=(
                Entries(
                    Text("recording is on in call {n} of `f`", "запись включена при вызове {n} функции `f`"),
                    Text("calls of `f`", "вызовов `f`"),
                ),
            ),
        ),
        aspect(
            "gradient",
            1,
            en="The gradient of the input of the whole expression is right, for any `grad_output`.",
            ru="Градиент по входу всего выражения верен при любом `grad_output`.",
            entries=(_GRADIENTS,),
        ),
        aspect(
            "parameters",
            1,
            en="The parameters that `f` uses get their gradients: those are added to their `.grad`.",
            ru="Градиенты параметров, которые использует `f`, прибавлены к их `.grad`.",
        ),
    ],
    hints=[
        Text(
            "In `backward` recording is off. What do you need to differentiate `f` there?",
            "В методе `backward` запись выключена. Что нужно, чтобы продифференцировать там `f`?",
        ),
        Text(
            "`torch.enable_grad()`, a detached copy of `x` that requires grad, `f` on it, and a backward pass of its own "
            "from there with `grad_output`. `autograd.grad` for `x` alone would leave the parameters out.",
            "Нужны `torch.enable_grad()`, отсоединённая копия `x`, которая требует градиента, вычисление `f` на ней и отдельный "
            "обратный проход с `grad_output`. Вызов `autograd.grad` для одного `x` не дал бы градиентов параметрам.",
        ),
        Text.same(
            "(x,) = ctx.saved_tensors\nwith torch.enable_grad():\n    copy = x.detach().requires_grad_()\n    y = ctx.f(copy)\n"
            "y.backward(...)\nreturn None, copy.grad"
        ),
    ],
)
def recompute(answer: Any, case: Case) -> dict[str, object]:
    f, x = _Layer(case.w), case.x.clone().requires_grad_()
    with using_answer():
        if not issubclass(answer.Recompute, torch.autograd.Function):
            raise Refused("raised.base", name="Recompute", base="torch.autograd.Function")
        y = answer.Recompute.apply(f if case.module else f.forward, x.exp())
        value = {"value": y, "requires grad": y.requires_grad}
        loss = (answer.Recompute.apply(f.wave, y) * case.v).sum()
    gradient = _differentiate(loss, x, case.module)
    rows = _rows(answer.Recompute, case.x)
    # The pass may end with an error before `f` has run again. The error then tells mistakes apart.
    calls = [*f.calls, gradient] if isinstance(gradient, Caught) and len(f.calls) < 4 else f.calls
    return {"value": value, "gradient": [gradient, *rows], "calls": calls, "parameters": f.w.grad}


def _differentiate(loss: Tensor, x: Tensor, alone: bool) -> object:
    """Return the gradient of `x`, or the error of the backward pass.

    If `alone` is true, `x` gets no `.grad`.
    """
    try:
        if alone:
            return torch.autograd.grad(loss, x, allow_unused=True)[0]
        loss.backward()
        return x.grad
    except RuntimeError as error:
        text = re.sub(r"[A-Za-z]+Backward", "Backward", str(error))  # whatever the class is called
        return Caught.of(error, f"RuntimeError: {text}")


def _rows(function: Any, x: Tensor) -> list[Any]:
    """Return two rows of a Jacobian, of two passes through one graph, or the error that came."""
    x = x.detach()[0].requires_grad_()
    try:
        y = function.apply(torch.Tensor.square, x)
        return [torch.autograd.grad(y[i], x, retain_graph=True, allow_unused=True)[0] for i in (0, 1)]
    except Exception as error:
        return [Caught.of(error, error_kind(error))]


class _Layer(torch.nn.Module):
    """A layer that notes for each call whether recording is on."""

    def __init__(self, w: Tensor) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(w.detach().clone())
        self.w.grad = w.grad
        self.calls: list[bool] = []

    def forward(self, t: Tensor) -> Tensor:
        self.calls.append(torch.is_grad_enabled())
        return (t @ self.w).tanh() + self.w.sum()  # type: ignore[no-any-return]

    def wave(self, t: Tensor) -> Tensor:
        """Compute another function, for a second use of `Recompute`."""
        self.calls.append(torch.is_grad_enabled())
        return (1.5 * t).sin() * self.w.mean()  # type: ignore[no-any-return]


@recompute.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for filled in (False, True):
        w = signed(rng, 3, 2).requires_grad_()
        w.grad = uniform(rng, 3, 2) if filled else None
        yield Case(x=signed(rng, 4, 3), w=w, v=signed(rng, 4, 2), module=filled)
