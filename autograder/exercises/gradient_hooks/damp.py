"""Core exercise: a hook that changes its argument in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text


def _tried(run: Any) -> object:
    """Return what `run()` returns, or the name of the RuntimeError that it raises."""
    try:
        return run()
    except RuntimeError as error:
        return type(error).__name__


def _second(damp: Any, case: Case) -> object:
    """Return the second derivative of the sixth power of a number. The gradient of its cube is damped.

    Returns None if the first derivative has no history.
    """
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    cube = x**3
    damp(cube, case.factor)
    (first,) = torch.autograd.grad(cube**2, x, create_graph=True)
    return torch.autograd.grad(first, x)[0] if first.requires_grad else None


@exercise(
    title=Text("A hook that edits its argument", "Хук, который меняет свой аргумент"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "damped",
            1,
            en="The gradient that goes on from `tensor` is multiplied by `factor`, whatever the loss is.",
            ru="Градиент, который идёт дальше от тензора `tensor`, умножен на `factor`, какой бы ни была функция "
            "потерь.",
        ),
        aspect(
            "others",
            1,
            en="Nothing else changes: neither the other branch nor the gradient passed to `backward`, nor what an "
            "earlier hook has kept.",
            ru="Больше ничего не меняется: ни соседняя ветвь, ни градиент, переданный в `backward`, ни то, что "
            "сохранил более ранний хук.",
        ),
        aspect(
            "second",
            0.5,
            en="With `create_graph=True` the second derivative is damped, too.",
            ru="При `create_graph=True` множитель есть и во второй производной.",
        ),
        aspect(
            "removed",
            0.5,
            en="What comes back is the handle: after `remove()` the gradient is the usual one.",
            ru="Возвращается дескриптор хука: после `remove()` градиент снова обычный.",
            after=(),
        ),
    ],
    hints=[
        Text(
            "In `y = a + b` both branches get the same gradient. The same numbers, or the same tensor?",
            "В сумме `y = a + b` обе ветви получают один и тот же градиент. Одинаковые числа или один и тот же тензор?",
        ),
        Text(
            "A hook has two ways to answer: return None, and the gradient goes on as it is, or return a new tensor.",
            "Хук может ответить двояко: вернуть None, тогда градиент идёт дальше как есть, или вернуть новый тензор.",
        ),
        Text(
            "def hook(grad):\n    return ...  # a new tensor\nreturn tensor.register_hook(hook)",
            "def hook(grad):\n    return ...\nreturn tensor.register_hook(hook)",
        ),
    ],
)
def damp(answer: Any, case: Case) -> dict[str, object]:
    a, b = case.a, case.b
    right, left = b * 1, a * 1  # backward reaches the one made last first
    kept: list[Tensor] = []
    right.register_hook(kept.append)
    left.register_hook(kept.append)
    seed = case.seed.clone()
    handle = answer.damp(left, case.factor)
    with using_answer():
        y = left + right
        into_a, into_b = torch.autograd.grad(y, (a, b), seed, retain_graph=True)
        expanded = _tried(lambda: torch.autograd.grad(y.sum(), a, retain_graph=True)[0])
        second = _tried(lambda: _second(answer.damp, case))
    removable = callable(getattr(handle, "remove", None))
    if removable:
        with using_answer():
            handle.remove()
            after = _tried(lambda: torch.autograd.grad(y, a, case.seed.clone())[0])
    return {
        "damped": [into_a, expanded],
        "others": [into_b, seed, *kept[:2], y],
        "second": second,
        "removed": after if removable else None,
    }


@damp.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(a=leaf(rng, 3), factor=0.5, b=leaf(rng, 3), seed=signed(rng, 3))
    yield Case(a=leaf(rng, 2, 2), factor=-3.0, b=leaf(rng, 2, 2), seed=uniform(rng, 2, 2))
    yield Case(a=leaf(rng), factor=0.0, b=leaf(rng), seed=uniform(rng))


@damp.mistake(
    en="The hook still changes the tensor that it was given. In a sum that tensor is also the other branch's gradient.",
    ru="Хук по-прежнему меняет полученный тензор. При сложении этот же тензор служит градиентом и для другой ветви.",
)
def still_in_place(tensor: Tensor, factor: float) -> Any:
    def hook(grad: Tensor) -> Tensor:
        return grad.mul_(factor)

    return tensor.register_hook(hook)


@damp.mistake(
    en="The gradient goes on as it is. A hook that computes a product and does not return it has no effect.",
    ru="Градиент идёт дальше без изменений. Хук, который вычислил произведение и не вернул его, ни на что не влияет.",
)
def returns_nothing(tensor: Tensor, factor: float) -> Any:
    def hook(grad: Tensor) -> None:
        grad = grad * factor

    return tensor.register_hook(hook)


@damp.mistake(
    en="`.data` was changed. That is the same memory: the edit is as visible to the other branch as before.",
    ru="Изменено поле `.data`. Но память та же самая: соседняя ветвь увидит это изменение, как и раньше.",
)
def edits_the_data(tensor: Tensor, factor: float) -> Any:
    def hook(grad: Tensor) -> None:
        grad.data *= factor

    return tensor.register_hook(hook)


@damp.mistake(
    en="The gradient that the hook returns has lost its history, so the second derivative is lost.",
    ru="Градиент, который возвращает хук, потерял историю, и вторая производная пропала.",
)
def loses_the_history(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: grad.detach().clone().mul_(factor))


@damp.mistake(
    en="The handle is not returned, so nobody can take the hook off.",
    ru="Дескриптор не возвращается, поэтому снять хук никто не сможет.",
)
def keeps_the_handle(tensor: Tensor, factor: float) -> None:
    tensor.register_hook(lambda grad: grad * factor)


@damp.mistake(
    en="The gradient is multiplied by `factor` twice. That happens when the hook both edits its argument and returns "
    "a product, or is registered twice.",
    ru="Градиент умножен на `factor` дважды. Так бывает, когда хук и меняет аргумент, и возвращает произведение, или "
    "когда он зарегистрирован два раза.",
)
def damps_twice(tensor: Tensor, factor: float) -> Any:
    tensor.register_hook(lambda grad: grad * factor)
    return tensor.register_hook(lambda grad: grad * factor)


@damp.mistake(
    en="The hook works once only: it takes itself off after the first pass.",
    ru="Хук срабатывает только один раз: после первого прохода он снимает себя сам.",
)
def works_once(tensor: Tensor, factor: float) -> Any:
    def hook(grad: Tensor) -> Tensor:
        handle.remove()
        return grad * factor

    handle = tensor.register_hook(hook)
    return handle


@damp.mistake(
    en="The tensor itself was multiplied, not its gradient: the value of the forward pass is another one now.",
    ru="Умножен сам тензор, а не его градиент: теперь изменилось значение в прямом проходе.",
)
def scales_the_value(tensor: Tensor, factor: float) -> Any:
    with torch.no_grad():
        tensor.mul_(factor)
    return tensor.register_hook(lambda grad: grad * factor)
