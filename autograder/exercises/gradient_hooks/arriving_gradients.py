"""Core exercise: read gradients by hooks, and take these off again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, with_old_gradient
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .common import Gradients, hooks_on, quiet_gradients


def _after_an_error(answer: Any) -> list[object]:
    """Return what `answer` leaves behind when `backward` raises: whether the error came through, and hooks."""
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    h = w * 2
    loss = (h * h).sum()
    loss.backward()  # frees the graph: the next pass raises
    try:
        answer.arriving_gradients(loss, [h, w])
        raised = False
    except AnswerRaised as error:
        raised = isinstance(error.__cause__, RuntimeError)
        error.__cause__.__traceback__ = None  # type: ignore[union-attr]
    return [raised, hooks_on([h, w])]


@exercise(
    title=Text("Gradients as they arrive", "Пришедшие градиенты"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "gradients",
            1,
            en="The list holds, for each tensor, the gradient that this pass brought to it, or None.",
            ru="В списке для каждого тензора лежит градиент, который пришёл к нему в этом проходе, или None.",
        ),
        aspect(
            "grad_fields",
            1,
            en="`.grad` is as after an ordinary `backward()`: leaves have accumulated, the others still have None.",
            ru="Поля `.grad` такие же, как после обычного `backward()`: у листьев накоплен градиент, у остальных "
            "по-прежнему None.",
            after=(),
        ),
        aspect(
            "hooks_left",
            1,
            en="No hook of yours stays, even if `backward()` raises; its error goes on to the caller.",
            ru="Ни одного вашего хука не остаётся, даже если `backward()` завершился ошибкой; сама ошибка доходит до "
            "вызывающего кода.",
        ),
    ],
    hints=[
        Text(
            "A hook gets the gradient as its argument. Where can it put it so that your function finds it later?",
            "Хук получает градиент аргументом. Куда его положить, чтобы ваша функция потом его нашла?",
        ),
        Text(
            "Several hooks in a loop: each one needs its own position. And `try: ... finally: ...` runs in any case.",
            "Хуки ставятся в цикле, и каждому нужна своя позиция. А `try: ... finally: ...` сработает в любом случае.",
        ),
        Text(
            "found = [None] * len(tensors)\nhandles = [...]  # one hook for each position\n"
            "try:\n    loss.backward()\nfinally:\n    ...  # every handle",
            "found = [None] * len(tensors)\nhandles = [...]\ntry:\n    loss.backward()\nfinally:\n    ...",
        ),
    ],
)
def arriving_gradients(answer: Any, case: Case) -> dict[str, object]:
    before = hooks_on(case.tensors)
    found = answer.arriving_gradients(case.loss, case.tensors)
    with using_answer():
        fields = quiet_gradients([*case.tensors, *case.leaves])
        left = hooks_on(case.tensors) - before
        retained = [tensor.retains_grad for tensor in case.tensors if not tensor.is_leaf]
    return {
        "gradients": list(found) if isinstance(found, tuple) else found,
        "grad_fields": [fields, *retained],
        "hooks_left": [left, *_after_an_error(answer)],
    }


@arriving_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    w, v = with_old_gradient(leaf(rng, 3)), leaf(rng, 3)
    h = w * v
    y = h * signed(rng, 3) + h.exp()
    yield Case(loss=y.sum(), tensors=[h, y], leaves=[w, v])
    w, aside = with_old_gradient(leaf(rng, 2)), leaf(rng, 2)
    h, unused = w * 3, w * 5
    unused.register_hook(lambda grad: grad * 7)
    h.register_hook(lambda grad: grad * 7)  # somebody else's, which stays
    yield Case(loss=(h * h * signed(rng, 2)).sum(), tensors=[w, unused, h, aside], leaves=[w, aside])


def _record(loss: Tensor, tensors: list[Tensor], found: Gradients) -> None:
    """Run `loss.backward()` and write the gradient of each tensor into `found`."""

    def keep(index: int) -> Any:
        def hook(grad: Tensor) -> None:
            found[index] = grad

        return hook

    handles = [tensor.register_hook(keep(index)) for index, tensor in enumerate(tensors)]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()


@arriving_gradients.mistake(
    en="The hooks are never taken off. Every further pass will run them, and each keeps alive all that it uses.",
    ru="Хуки не сняты. Они будут выполняться в каждом следующем проходе, и каждый удерживает в памяти всё, чем "
    "пользуется.",
)
def leaves_the_hooks(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    for index, tensor in enumerate(tensors):
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))  # type: ignore[misc]
    loss.backward()
    return found


@arriving_gradients.mistake(
    en="The hooks are taken off after `backward()`, but not if it raises: that needs `finally`.",
    ru="Хуки сняты после `backward()`, но не в том случае, когда он завершился ошибкой: для этого нужен `finally`.",
)
def forgets_the_error(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))  # type: ignore[misc]
        for index, tensor in enumerate(tensors)
    ]
    loss.backward()
    for handle in handles:
        handle.remove()
    return found


@arriving_gradients.mistake(
    en="The error of `backward()` was caught and does not reach the caller.",
    ru="Ошибка `backward()` перехвачена и не доходит до вызывающего кода.",
)
def swallows_the_error(loss: Tensor, tensors: list[Tensor]) -> Gradients | None:
    found: Gradients = [None] * len(tensors)
    try:
        _record(loss, tensors, found)
    except RuntimeError:
        return None
    return found


@arriving_gradients.mistake(
    en="Every hook writes to the same place: a variable of the loop is read when the hook runs, and by then the loop "
    "is over.",
    ru="Все хуки пишут в одно место: переменная цикла читается, когда хук выполняется, а цикл к этому времени уже "
    "закончился.",
)
def all_in_one_place(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    handles = []
    for index, tensor in enumerate(tensors):
        handles.append(tensor.register_hook(lambda grad: found.__setitem__(index, grad)))  # noqa: B023 (the mistake)
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found


@arriving_gradients.mistake(
    en="The gradients are listed in the order in which they arrived: from the loss backward, and only those that came.",
    ru="Градиенты перечислены в том порядке, в каком они пришли: от функции потерь назад, и только те, что пришли.",
)
def in_order_of_arrival(loss: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    found: list[Tensor] = []
    handles = [tensor.register_hook(found.append) for tensor in tensors]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found


@arriving_gradients.mistake(
    en="`retain_grad()` leaves a gradient in `.grad` of every intermediate tensor, and for a leaf `.grad` is the sum "
    "of all passes.",
    ru="После `retain_grad()` у каждого промежуточного тензора градиент остаётся в `.grad`, а у листа в `.grad` лежит "
    "сумма всех проходов.",
)
def retains(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    for tensor in tensors:
        tensor.retain_grad()
    loss.backward()
    return [tensor.grad for tensor in tensors]


@arriving_gradients.mistake(
    en="`autograd.grad` returns the gradients, but `.grad` of the leaves gets nothing.",
    ru="Функция `autograd.grad` возвращает градиенты, но в `.grad` у листьев ничего не попадает.",
)
def asks_grad(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    return list(torch.autograd.grad(loss, tensors, allow_unused=True))


@arriving_gradients.mistake(
    en="For a tensor to which no gradient comes there is a tensor of zeros. The contract says None.",
    ru="Для тензора, к которому градиент не пришёл, в списке стоят нули, а по условию нужен None.",
)
def fills_with_zeros(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return [torch.zeros_like(tensor) if grad is None else grad for grad, tensor in zip(found, tensors)]


@arriving_gradients.mistake(
    en="Nothing was returned: `return` is missing.",
    ru="Функция ничего не возвращает: забыт `return`.",
)
def forgets_to_return(loss: Tensor, tensors: list[Tensor]) -> None:
    _record(loss, tensors, [None] * len(tensors))
