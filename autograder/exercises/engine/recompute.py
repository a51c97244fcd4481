"""Extra exercise: a backward pass inside a backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text

Function: Any = torch.autograd.Function  # Any, as each subclass has its own signature of `forward` and `backward`


@exercise(
    title=Text("A pass inside the pass", "Проход внутри прохода"),
    kind="complete",
    asks="Recompute",
    asks_for="class",
    difficulty=3,
    minutes=14,
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
        ),
        aspect(
            "gradient",
            1,
            en="The gradient of the input of the whole expression is right, for any `grad_output`.",
            ru="Градиент по входу всего выражения верен при любом `grad_output`.",
        ),
        aspect(
            "parameters",
            1,
            en="The parameters that `f` uses get their gradients: those are added to their `.grad`.",
            ru="Параметры, которые использует `f`, получают свои градиенты: они прибавлены к их `.grad`.",
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
            "Нужны `torch.enable_grad()`, отсоединённая копия `x`, которая требует градиент, вычисление `f` на ней и отдельный "
            "обратный проход с `grad_output`. Вызов `autograd.grad` для одного `x` не дал бы градиентов параметрам.",
        ),
        Text(
            "(x,) = ctx.saved_tensors\nwith torch.enable_grad():\n    copy = x.detach().requires_grad_()\n    y = ctx.f(copy)\n"
            "y.backward(...)\nreturn None, copy.grad",
            "(x,) = ctx.saved_tensors\nwith torch.enable_grad():\n    copy = x.detach().requires_grad_()\n    y = ctx.f(copy)\n"
            "y.backward(...)\nreturn None, copy.grad",
        ),
    ],
)
def recompute(answer: Any, case: Case) -> dict[str, object]:
    calls: list[bool] = []
    w, x = case.w, case.x.clone().requires_grad_()

    def f(t: Tensor) -> Tensor:
        calls.append(torch.is_grad_enabled())
        return (t @ w).tanh() + w.sum()  # type: ignore[no-any-return]

    with using_answer():
        if not issubclass(answer.Recompute, torch.autograd.Function):
            raise TypeError("the class does not derive from torch.autograd.Function")
        y = answer.Recompute.apply(f, x.exp())
        value = {"value": y, "requires grad": y.requires_grad}
        (y * case.v).sum().backward()
    return {"value": value, "calls": calls, "gradient": x.grad, "parameters": w.grad}


@recompute.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for filled in (False, True):
        w = signed(rng, 3, 2).requires_grad_()
        w.grad = uniform(rng, 3, 2) if filled else None
        yield Case(x=signed(rng, 4, 3), w=w, v=signed(rng, 4, 2))


class _Recompute(Function):
    """A right Function, from which the wrong ones derive."""

    @staticmethod
    def forward(ctx: Any, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)


@recompute.mistake(
    en="`f` is recorded in the forward pass already, and its graph is kept. Nothing is saved by that.",
    ru="Функция `f` записана уже в прямом проходе, и её граф хранится. Память так не сэкономить.",
)
class KeepsTheGraph(Function):
    """A Function that keeps the graph of `f`."""

    @staticmethod
    def forward(ctx: Any, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = f(ctx.x)
        return ctx.y.detach()  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        ctx.y.backward(grad_output)
        return None, ctx.x.grad


@recompute.mistake(
    en="`f` is recomputed with recording off, as it is in every `backward`. The result has no graph to differentiate.",
    ru="Функция `f` вычисляется повторно без записи, а в методе `backward` запись всегда выключена. У результата нет "
    "графа.",
)
class RecordsNothing(_Recompute):
    """A Function without `enable_grad`."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        ctx.f(copy).backward(grad_output)
        return None, copy.grad


@recompute.mistake(
    en="`torch.autograd.grad` was asked for the gradient of `x` alone. The parameters of `f` get nothing.",
    ru="У `torch.autograd.grad` запрошен градиент только по `x`. Параметры функции `f` ничего не получают.",
)
class ForgetsParameters(_Recompute):
    """A Function that differentiates by `x` only."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            return None, torch.autograd.grad(ctx.f(copy), copy, grad_output)[0]


@recompute.mistake(
    en="The inner pass starts from `y.sum()`: `grad_output` is left out.",
    ru="Внутренний проход начат с `y.sum()`: `grad_output` не учтён.",
)
class IgnoresGradOutput(_Recompute):
    """A Function that starts from ones."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).sum().backward()
        return None, copy.grad


@recompute.mistake(
    en="`x` is not detached: the inner pass does not stop there. It goes on through the graph before `x` and frees what the "
    "outer pass still needs.",
    ru="Тензор `x` не отсоединён от графа, и внутренний проход на нём не останавливается: он идёт дальше, по графу перед "
    "`x`, и освобождает то, что ещё нужно внешнему.",
)
class GoesUpstream(_Recompute):
    """A Function without `detach`."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x.retain_grad()
            ctx.f(x).backward(grad_output)
        return None, x.grad


@recompute.mistake(
    en="`f` is never called again: what is returned is `grad_output`, as if `f` were the identity.",
    ru="Функция `f` повторно не вызвана: возвращён `grad_output`, как если бы `f` ничего не меняла.",
)
class PassesThrough(_Recompute):
    """A Function that returns `grad_output`, brought to the shape of `x`."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return None, grad_output.sum(-1, keepdim=True).expand_as(x)
