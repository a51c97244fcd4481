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
    f, x = _Layer(case.w), case.x.clone().requires_grad_()
    with using_answer():
        if not issubclass(answer.Recompute, torch.autograd.Function):
            raise TypeError("the class does not derive from torch.autograd.Function")
        y = answer.Recompute.apply(f if case.module else f.forward, x.exp())
        value = {"value": y, "requires grad": y.requires_grad}
        loss = (answer.Recompute.apply(f.wave, y) * case.v).sum()
    return {"value": value, "gradient": _differentiate(loss, x, case.module), "calls": f.calls, "parameters": f.w.grad}


def _differentiate(loss: Tensor, x: Tensor, alone: bool) -> object:
    """Return the gradient of `x`, or the error of the backward pass. If `alone` is true, `x` gets no `.grad`."""
    try:
        if alone:
            return torch.autograd.grad(loss, x, allow_unused=True)[0]
        loss.backward()
        return x.grad
    except RuntimeError as error:
        return f"RuntimeError: {error}"


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


@recompute.mistake(
    en="`x` is not detached, so the inner pass goes on through the graph before `x`. Leaves there get gradients of it; the "
    "outer pass finds no gradient of `x` to go on with.",
    ru="Тензор `x` не отсоединён от графа, и внутренний проход идёт дальше, по графу перед `x`. Листья там получают градиенты "
    "от него, а внешнему проходу по `x` продолжать не с чем.",
)
class PassesUpstream(_Recompute):
    """A Function without `detach` that keeps the graph."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            ctx.f(ctx.saved_tensors[0]).backward(grad_output, retain_graph=True)
        return None, None


@recompute.mistake(
    en="`f` is kept on the class, where the next use of `Recompute` replaces it. Each use has a `ctx` of its own.",
    ru="Функция `f` хранится в самом классе, и следующее применение `Recompute` её заменяет. Свой у каждого применения только "
    "`ctx`.",
)
class KeepsFOnTheClass(Function):
    """A Function whose uses share `f`."""

    f: Any = None

    @staticmethod
    def forward(ctx: Any, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        KeepsFOnTheClass.f = staticmethod(f)
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            KeepsFOnTheClass.f(copy).backward(grad_output)
        return None, copy.grad


@recompute.mistake(
    en="The earlier `.grad` of a parameter is gone. The new gradient should be added to it.",
    ru="Прежний градиент в `.grad` у параметра пропал, а новый должен был к нему прибавиться.",
)
class ClearsParameters(_Recompute):
    """A Function that empties `.grad` of the parameters of a module."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        if isinstance(ctx.f, torch.nn.Module):
            ctx.f.zero_grad()
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return None, copy.grad


@recompute.mistake(
    en="Recording is on for `f` alone. What follows in `backward`, such as `y.sum()`, is not recorded and has no graph.",
    ru="Запись включена только для самой `f`. То, что следует за ней в методе `backward`, например `y.sum()`, не записано, и "
    "графа у него нет.",
)
class RecordsFAlone(_Recompute):
    """A Function that leaves `enable_grad` too early."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(copy)
        (y * grad_output).sum().backward()
        return None, copy.grad


@recompute.mistake(
    en="`f` is recorded in the forward pass as well. That graph is built for nothing.",
    ru="Функция `f` записана и в прямом проходе. Этот граф построен напрасно.",
)
class RecordsTwice(_Recompute):
    """A Function that records both runs of `f`."""

    @staticmethod
    def forward(ctx: Any, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.enable_grad():
            return f(x.detach().requires_grad_()).detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return None, copy.grad


@recompute.mistake(
    en="`f` runs twice in the backward pass. One run gives all gradients.",
    ru="В обратном проходе функция `f` выполняется дважды. Чтобы получить все градиенты, достаточно одного раза.",
)
class RunsTwice(_Recompute):
    """A Function with two runs of `f`, for `x` and for parameters."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            copy = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(ctx.f(copy), copy, grad_output)
            ctx.f(x.detach()).backward(grad_output)
        return None, gradient


@recompute.mistake(
    en="The gradient of `x` stands in the place of `f`. `backward` returns one value for each argument of `forward`, in "
    "order.",
    ru="Градиент по `x` стоит на месте `f`. Метод `backward` возвращает по значению на каждый аргумент `forward`, в том же "
    "порядке.",
)
class SwapsGradients(_Recompute):
    """A Function that returns its gradients in the wrong order."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return copy.grad, None


@recompute.mistake(
    en="There are two inner passes, and each adds to `.grad` of the parameters: they get their gradient twice.",
    ru="Внутренних проходов два, и каждый прибавляет к `.grad` параметров: они получают свой градиент дважды.",
)
class PassesTwice(_Recompute):
    """A Function with a second inner pass."""

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            y = ctx.f(copy)
        y.backward(grad_output, retain_graph=True)
        gradient = copy.grad.clone()
        y.backward(grad_output)
        return None, gradient
