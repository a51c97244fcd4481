"""The mistakes in `damp`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .damp import damp


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
    en="The gradient goes on as it is: `tensor` has no hook. A hook on another tensor made from it, such as "
    "`tensor * 1`, does not run, because the loss does not depend on that one.",
    ru="Градиент идёт дальше без изменений: на тензоре `tensor` хука нет. Хук на другом тензоре, который из него "
    "получен, например на `tensor * 1`, не срабатывает, потому что функция потерь от того тензора не зависит.",
)
def hooks_another_tensor(tensor: Tensor, factor: float) -> Any:
    return (tensor * 1).register_hook(lambda grad: grad * factor)


@damp.mistake(
    en="On a leaf, what an earlier pass has left in `.grad` is multiplied as well. A hook that runs after the addition "
    "finds the sum there.",
    ru="На листе умножается и то, что лежало в `.grad` с прежнего прохода. Хук, который выполняется после прибавления, "
    "находит там уже сумму.",
)
def damps_the_sum(tensor: Tensor, factor: float) -> Any:
    if not tensor.is_leaf:
        return tensor.register_hook(lambda grad: grad * factor)

    def hook(leaf: Tensor) -> None:
        leaf.grad.mul_(factor)  # type: ignore[union-attr]

    return tensor.register_post_accumulate_grad_hook(hook)


@damp.mistake(
    en="The gradient of another tensor is multiplied, too. The two are results of one operation, and so have a node in "
    "common; a hook on the node concerns both.",
    ru="Умножен и градиент другого тензора. Оба тензора — результаты одной операции, узел у них общий, и хук на узле "
    "касается обоих.",
)
def damps_the_node(tensor: Tensor, factor: float) -> Any:
    if tensor.grad_fn is None:
        return tensor.register_hook(lambda grad: grad * factor)
    return tensor.grad_fn.register_hook(lambda into, _: tuple(None if g is None else g * factor for g in into))


@damp.mistake(
    en="The product has the digits of float32 only, while the gradient is in float64.",
    ru="У произведения верны только цифры, которые умещаются в float32, а градиент хранится в float64.",
)
def rounds_the_gradient(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: (grad.float() * factor).to(grad.dtype))


@damp.mistake(*damp.mistakes["rounds_the_gradient"].says)
def rounds_the_factor(tensor: Tensor, factor: float) -> Any:
    rounded = torch.tensor(factor, dtype=torch.float32)
    return tensor.register_hook(lambda grad: (grad * rounded).to(grad.dtype))


@damp.mistake(
    en="The entries are clamped to at most `factor` in magnitude. They are to be multiplied by it.",
    ru="Элементы обрезаны так, чтобы по модулю не превышать `factor`, а их нужно умножить на это число.",
)
def clamps(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: grad.clamp(-factor, factor))


@damp.mistake(
    en="The number `factor` is subtracted. The gradient is to be multiplied by it.",
    ru="Число `factor` вычитается, а градиент нужно на него умножить.",
)
def subtracts(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: grad - factor)


@damp.mistake(
    en="From the second pass on the hook still returns the gradient of the first one.",
    ru="Начиная со второго прохода хук по-прежнему возвращает градиент первого.",
)
def keeps_the_first(tensor: Tensor, factor: float) -> Any:
    kept: list[Tensor] = []

    def hook(grad: Tensor) -> Tensor:
        kept.append(grad * factor)
        return kept[0]

    return tensor.register_hook(hook)


@damp.mistake(
    en="With `factor` equal to 0 the gradient goes on as it is. It has to become 0.",
    ru="Когда `factor` равен 0, градиент идёт дальше без изменений, а должен стать нулевым.",
)
def ignores_zero(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: grad * (factor or 1))


@damp.mistake(
    en="The numbers are right, but the product was written into `.data`. The second derivative knows nothing of "
    "such a change: the factor is missing there.",
    ru="Числа верны, но произведение записано в `.data`. О таком изменении вторая производная ничего не знает: "
    "множителя в ней не хватает.",
)
def hides_the_product(tensor: Tensor, factor: float) -> Any:
    def hook(grad: Tensor) -> Tensor:
        copy = grad.clone()
        copy.data.mul_(factor)
        return copy

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
    en="What comes back is no handle: it has no method `remove()`.",
    ru="Возвращается не дескриптор: метода `remove()` у результата нет.",
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


@damp.mistake(
    en="The hook is put on the node, `tensor.grad_fn`. A leaf has no such node: there `grad_fn` is None.",
    ru="Хук ставится на узел, `tensor.grad_fn`. У листа такого узла нет: там `grad_fn` — это None.",
)
def asks_a_leaf_for_its_node(tensor: Tensor, factor: float) -> Any:
    return tensor.grad_fn.register_prehook(lambda grads: tuple(g * factor for g in grads))  # type: ignore[union-attr]


@damp.mistake(*damp.mistakes["asks_a_leaf_for_its_node"].says)
def hooks_the_node_of_a_leaf(tensor: Tensor, factor: float) -> Any:
    return tensor.grad_fn.register_hook(lambda into, _: tuple(g * factor for g in into))  # type: ignore[union-attr]


@damp.mistake(
    en="The number `factor` is added. The gradient is to be multiplied by it.",
    ru="Число `factor` прибавлено, а градиент нужно на него умножить.",
)
def adds(tensor: Tensor, factor: float) -> Any:
    return tensor.register_hook(lambda grad: grad + factor)
