"""The mistakes in `arriving_gradients`, as programs."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from .arriving_gradients import arriving_gradients
from .common import Gradients


def _record(loss: Tensor, tensors: list[Tensor], found: Gradients, inputs: list[Tensor] | None = None) -> None:
    """Run `loss.backward(inputs=inputs)` and write the gradient of each tensor into `found`."""

    def keep(index: int) -> Any:
        def hook(grad: Tensor) -> None:
            found[index] = grad

        return hook

    handles = [tensor.register_hook(keep(index)) for index, tensor in enumerate(tensors)]
    try:
        loss.backward(inputs=inputs)
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
    en="For a leaf the list holds what is in `.grad` after the pass. That is the sum of all passes, not the gradient "
    "of this one.",
    ru="Для листа в списке стоит то, что лежит в `.grad` после прохода. Это сумма всех проходов, а не градиент этого "
    "прохода.",
)
def sums_of_leaves(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return [tensor.grad if tensor.is_leaf else grad for grad, tensor in zip(found, tensors)]


@arriving_gradients.mistake(*arriving_gradients.mistakes["sums_of_leaves"].says)
def sums_of_reached_leaves(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return [
        tensor.grad if tensor.is_leaf and grad is not None else grad  # as in a post-accumulate hook
        for grad, tensor in zip(found, tensors)
    ]


@arriving_gradients.mistake(
    en="For a leaf the list holds the difference of `.grad` after and before the pass. Where nothing came, that is a "
    "tensor of zeros; the contract says None.",
    ru="Для листа в списке стоит разность `.grad` после прохода и до него. Там, где ничего не пришло, это нули, а по "
    "условию нужен None.",
)
def subtracts(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    before = [tensor.grad.clone() if tensor.is_leaf and tensor.grad is not None else None for tensor in tensors]
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    old = zip(found, tensors, before)
    return [grad if was is None else tensor.grad - was for grad, tensor, was in old]  # type: ignore[operator]


@arriving_gradients.mistake(
    en="A gradient of zeros is in the list as None. It did come: None is for tensors to which nothing comes.",
    ru="Вместо градиента из одних нулей в списке стоит None. Но такой градиент пришёл, а None — для тензоров, к "
    "которым не приходит ничего.",
)
def zeros_as_none(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return [grad if grad is not None and grad.any() else None for grad in found]


@arriving_gradients.mistake(
    en="For a tensor with somebody else's hook the list holds the gradient from before that hook. The changed one is "
    "meant.",
    ru="Для тензора с чужим хуком в списке стоит градиент, каким он был до этого хука. А нужен уже изменённый.",
)
def before_the_others(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found = torch.autograd.grad(loss, tensors, retain_graph=True, allow_unused=True)
    loss.backward()
    return list(found)


@arriving_gradients.mistake(
    en="Only the gradients of leaves are in the list; for the intermediate tensors there is None.",
    ru="В списке есть только градиенты листьев, а для промежуточных тензоров стоит None.",
)
def leaves_only(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return [grad if tensor.is_leaf else None for grad, tensor in zip(found, tensors)]


@arriving_gradients.mistake(
    en="With `inputs=` the pass fills `.grad` of exactly these tensors: of the intermediate ones, too, and of no other "
    "leaf.",
    ru="С аргументом `inputs=` проход заполняет `.grad` ровно у этих тензоров: и у промежуточных, а у других листьев — "
    "нет.",
)
def names_the_inputs(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found, inputs=tensors)
    return found


@arriving_gradients.mistake(
    en="`.grad` of the leaves is as it was before: this pass should have added its gradient to it.",
    ru="В `.grad` у листьев лежит то же, что и до прохода, а проход должен был прибавить туда свой градиент.",
)
def puts_the_old_back(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    old = [tensor.grad if tensor.is_leaf else None for tensor in tensors]
    for tensor in tensors:
        if tensor.is_leaf:
            tensor.grad = None
        else:
            tensor.retain_grad()
    loss.backward()
    found = [tensor.grad for tensor in tensors]
    for tensor, grad in zip(tensors, old):
        tensor.grad = grad
    return found


@arriving_gradients.mistake(
    en="All hooks of the tensors were cleared, somebody else's as well. A handle takes off one hook only.",
    ru="У тензоров убраны все хуки, в том числе чужой. Дескриптор снимает только один хук.",
)
def clears_all_hooks(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    try:
        _record(loss, tensors, found)
    finally:
        for tensor in tensors:
            tensor._backward_hooks.clear()  # type: ignore[union-attr]
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


@arriving_gradients.mistake(
    en="With `inputs=` the pass fills `.grad` of these leaves alone. A leaf that is not in `tensors` gets nothing.",
    ru="С аргументом `inputs=` проход заполняет `.grad` только у этих листьев. Лист, которого нет в `tensors`, не "
    "получает ничего.",
)
def names_the_leaves(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found, inputs=[tensor for tensor in tensors if tensor.is_leaf] or None)
    return found


@arriving_gradients.mistake(
    en="`retain_grad()` is still on for intermediate tensors. `.grad` is None now, but every later pass will fill it.",
    ru="У промежуточных тензоров по-прежнему действует `retain_grad()`. Сейчас в `.grad` у них None, но следующий проход "
    "поле заполнит.",
)
def retains_and_clears(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    inner = [tensor for tensor in tensors if not tensor.is_leaf]
    for tensor in inner:
        tensor.retain_grad()
    try:
        _record(loss, tensors, found)
    finally:
        for tensor in inner:
            tensor.grad = None
    return found


@arriving_gradients.mistake(
    en="`.grad` of the leaves was cleared before the pass. What an earlier pass had left there is lost.",
    ru="Поля `.grad` листьев обнулены перед проходом. То, что оставил там прежний проход, потеряно.",
)
def clears_the_gradients(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    for tensor in tensors:
        if tensor.is_leaf:
            tensor.grad = None
    _record(loss, tensors, found)
    return found


@arriving_gradients.mistake(*arriving_gradients.mistakes["swallows_the_error"].says)
def swallows_every_error(loss: Tensor, tensors: list[Tensor]) -> Gradients | None:
    found: Gradients = [None] * len(tensors)
    try:
        _record(loss, tensors, found)
    except Exception:
        return None
    return found


@arriving_gradients.mistake(*arriving_gradients.mistakes["swallows_the_error"].says)
def swallows_one_kind_of_error(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))  # type: ignore[misc]
        for index, tensor in enumerate(tensors)
    ]
    with contextlib.suppress(RuntimeError):
        loss.backward()
    for handle in handles:
        handle.remove()
    return found


@arriving_gradients.mistake(
    en="The hooks are taken off when torch raises a RuntimeError, but not after an error of another kind, as a hook may "
    "raise it. `finally` runs after every error.",
    ru="Хуки сняты, когда torch завершился ошибкой RuntimeError, но не после ошибки другого вида, которую может вызвать "
    "хук. Блок `finally` выполняется после любой ошибки.",
)
def expects_one_kind_of_error(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    handles = [
        tensor.register_hook(lambda grad, index=index: found.__setitem__(index, grad))  # type: ignore[misc]
        for index, tensor in enumerate(tensors)
    ]
    try:
        loss.backward()
    except RuntimeError:
        for handle in handles:
            handle.remove()
        raise
    for handle in handles:
        handle.remove()
    return found


@arriving_gradients.mistake(
    en="For a tensor whose node has several results, the list holds the gradient of another one of them. A hook on a node "
    "gets a gradient for each result.",
    ru="Для тензора, у узла которого несколько результатов, в списке стоит градиент другого из них. Хук на узле получает "
    "по градиенту на каждый результат.",
)
def takes_the_first_result(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    nodes = [torch.autograd.graph.get_gradient_edge(tensor).node for tensor in tensors]
    handles = [
        node.register_prehook(lambda grads, index=index: found.__setitem__(index, grads[0]))  # type: ignore[misc]
        for index, node in enumerate(nodes)
    ]
    try:
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return found


@arriving_gradients.mistake(
    en="A dict comes back. The contract asks for a list, with one value for each tensor, in the order of `tensors`.",
    ru="Возвращён словарь, а по условию нужен список: по одному значению на тензор, в порядке `tensors`.",
)
def returns_a_dict(loss: Tensor, tensors: list[Tensor]) -> dict[Tensor, Tensor | None]:
    found: Gradients = [None] * len(tensors)
    _record(loss, tensors, found)
    return dict(zip(tensors, found))


@arriving_gradients.mistake(
    en="There are two backward passes: each of them has added to `.grad` of the leaves.",
    ru="Обратных проходов два, и каждый прибавил градиент к полям `.grad` листьев.",
)
def passes_twice(loss: Tensor, tensors: list[Tensor]) -> Gradients:
    found: Gradients = [None] * len(tensors)
    loss.backward(retain_graph=True)
    _record(loss, tensors, found)
    return found
