"""Exercise: a loss that deceives `once_differentiable`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from autograder.checking.counted_run import number_from
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.observe import using_answer
from autograder.language import Text


class _Cube(torch.autograd.Function):
    """The third power, right to every derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2  # type: ignore[no-any-return]


class _CubeOnce(_Cube):
    """The third power whose `backward` must not be differentiated."""

    backward = staticmethod(once_differentiable(_Cube.backward))  # type: ignore[assignment]


@exercise(
    title=Text("Past the guard", "Мимо защиты"),
    kind="write the counter-example",
    difficulty=2,
    aspects=[
        aspect(
            "usable",
            0,
            en="A number comes back, a tensor of one element with a graph, and its gradient depends on `f`.",
            ru="Возвращается число, тензор из одного элемента с графом, и его градиент зависит от `f`.",
        ),
        aspect(
            "silent",
            1,
            en="Two backward passes run without an error, although `f` may be differentiated once only.",
            ru="Оба обратных прохода выполняются без ошибки, хотя `f` можно дифференцировать только один раз.",
        ),
        aspect(
            "wrong",
            1,
            en="The second derivative is another than that of the same loss with a right Function.",
            ru="Вторая производная не та, что у той же функции потерь с правильной пользовательской функцией.",
            after=("usable", "silent"),
        ),
    ],
    hints=[
        Text(
            "The guard looks at the gradient that arrives in `f`. In which losses is it a constant?",
            "Декоратор смотрит на градиент, который приходит в `f`. В каких функциях потерь он постоянен?",
        ),
        Text(
            "In `f(x).sum()` ones arrive. But then the first gradient has no graph at all, and the second pass fails. "
            "From where can a graph come?",
            "В `f(x).sum()` приходят единицы. Но тогда у первой производной вообще нет графа, и второй проход кончится "
            "ошибкой. Откуда может взяться граф?",
        ),
        Text.same("def expose_once(f, x):\n    return ... + (...).sum()"),
    ],
    why=Why(
        Text("Why does the guard keep silent here?", "Почему защита здесь молчит?"),
        Text(
            "It marks the result of `backward` only if the gradient that arrives requires grad. Here a constant arrives, "
            "so the result looks like a constant, too.",
            "Она помечает результат `backward`, только если пришедший градиент требует градиента. Здесь приходит "
            "константа, и результат тоже выглядит константой.",
        ),
    ),
)
def expose_once(answer: Any, case: Case) -> dict[str, object]:
    values: dict[object, list[Tensor]] = {_Cube: [], _CubeOnce: [], None: []}

    def derivatives(f: type[_Cube] | None) -> tuple[Tensor | None, Tensor | str | None]:
        x = case.x.clone().requires_grad_()
        loss = answer.expose_once(lambda t: f.apply(t) if f else 0 * t, x)  # type: ignore[no-untyped-call]
        with using_answer():
            if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
                return None, None
            (first,) = torch.autograd.grad(loss.sum(), x, create_graph=True, materialize_grads=True)
            second = _second(first, x)
            values[f] += [loss.detach(), first.detach(), *([second] if isinstance(second, Tensor) else [])]
            return first.detach(), second

    right, once, without = (derivatives(f) for f in (_Cube, _CubeOnce, None))
    seen: dict[str, object] = {"usable": False, "silent": False, "wrong": False}
    if right[0] is None or once[0] is None or without[0] is None or not right[0].isfinite().all():
        return seen | {"result": "no scalar"}
    if torch.allclose(right[0], without[0]):
        return seen | {"result": "independent"}
    if not isinstance(once[1], Tensor) or not isinstance(right[1], Tensor):
        return seen | {"usable": True, "result": once[1], "other terms": bool(without[0].any())}
    # An answer that counts its calls would return another loss: each again, in an order that it cannot know.
    for f in (_Cube, _CubeOnce) if number_from(case.x) < 0.5 else (_CubeOnce, _Cube):
        derivatives(f)
        if len(values[f]) != 6 or not all(map(torch.allclose, values[f][:3], values[f][3:])):
            return seen | {"usable": True, "silent": True, "result": "another loss"}
    same = torch.allclose(right[1], once[1])
    return seen | {"usable": True, "silent": True, "wrong": not same, "result": "same" if same else "another"}


def _second(first: Tensor, x: Tensor) -> Tensor | str | None:
    """Return the gradient of `first.sum()` by a backward pass, or which of two errors there is."""
    if not first.requires_grad:
        return "no graph"
    try:
        first.sum().backward()
    except RuntimeError:
        return "refused"
    return x.grad


@expose_once.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape in ((3,), (2, 2), ()):
        yield Case(x=uniform(rng, *shape) + 0.25)  # a loss may divide by `x`
