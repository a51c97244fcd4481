"""The mistakes in `fix_leak`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from .common import flat
from .fix_leak import fix_leak


def _by_grad(
    model: Any, x: Tensor, y: Tensor, weight: float, penalise: Callable[[Any], Any], create_graph: bool = True
) -> float:
    """Make a step without a leak. `penalise` returns the penalty for the list of gradients."""
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=create_graph, retain_graph=True)
    model.zero_grad()
    (loss + weight * penalise(gradients)).backward()
    return loss.item()


def _squares(gradients: Any) -> Any:
    return sum((g**2).sum() for g in gradients)


def _by_backward(model: Any, x: Tensor, y: Tensor, weight: float, retain_graph: bool) -> float:
    model.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)  # type: ignore[no-untyped-call]
    (weight * _squares([p.grad for p in model.parameters()])).backward(retain_graph=retain_graph)
    return loss.item()


@fix_leak.mistake(
    en="The gradients are right, but they still have a graph: `backward(create_graph=True)` put them into `.grad` "
    "together with it.",
    ru="Градиенты верны, но у них остался граф: метод `backward(create_graph=True)` записал их в `.grad` вместе с ним.",
)
def gradients_with_a_graph(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_backward(model, x, y, weight, retain_graph=False)


@fix_leak.mistake(
    en="The gradients are right, but each has kept its graph with all saved tensors: nothing has freed it. The last "
    "backward pass needs neither `create_graph=True` nor `retain_graph=True`.",
    ru="Градиенты верны, но у каждого остался граф со всеми сохранёнными тензорами: ничто его не освободило. Последнему "
    "обратному проходу не нужны ни `create_graph=True`, ни `retain_graph=True`.",
)
def graph_with_saved_tensors(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_backward(model, x, y, weight, retain_graph=True)


@fix_leak.mistake(
    en="The penalty adds nothing to the gradient: it was computed from gradients without a graph.",
    ru="Штраф ничего не прибавил к градиенту: он вычислен из градиентов, у которых нет графа.",
)
def penalty_without_a_graph(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, _squares, create_graph=False)


@fix_leak.mistake(
    en="`.grad` holds the gradient of the penalty alone: that of the loss is missing.",
    ru="В `.grad` лежит градиент одного штрафа: градиента функции потерь не хватает.",
)
def penalty_alone(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="What `.grad` held before is still in it: the new gradient was added.",
    ru="В `.grad` осталось то, что там было раньше: новый градиент к нему прибавлен.",
)
def adds_to_the_old_gradient(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    (loss + weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="The lengths were penalised, not their squares: the square is missing.",
    ru="В штраф вошли длины, а не их квадраты: пропущено возведение в квадрат.",
)
def penalises_the_lengths(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: sum(g.norm() for g in gradients))


@fix_leak.mistake(
    en="The penalty was not multiplied by `weight`.",
    ru="Штраф не умножен на `weight`.",
)
def forgets_the_weight(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, 1.0, _squares)


@fix_leak.mistake(
    en="The gradient of the loss is in `.grad` twice: the first backward pass put it there, and the second one added it "
    "again.",
    ru="Градиент функции потерь попал в `.grad` дважды: его записал туда первый обратный проход, а второй прибавил ещё "
    "раз.",
)
def counts_the_loss_twice(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    model.zero_grad()
    (2 * loss + weight * _squares(gradients)).backward()
    return loss.item()


@fix_leak.mistake(
    en="The sum of loss and penalty was returned. Only the loss is asked for.",
    ru="Возвращена сумма функции потерь и штрафа, а нужна только функция потерь.",
)
def returns_the_sum(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    seen: list[float] = []

    def penalise(gradients: Any) -> Any:
        penalty = _squares(gradients)
        seen.append(penalty.item())
        return penalty

    return _by_grad(model, x, y, weight, penalise) + weight * seen[0]


@fix_leak.mistake(
    en="The loss was returned as a tensor. A Python number is asked for: `loss.item()`.",
    ru="Функция потерь возвращена как тензор, а нужно число Python: `loss.item()`.",
)
def returns_a_tensor(model: Any, x: Tensor, y: Tensor, weight: float) -> Tensor:
    return torch.tensor(_by_grad(model, x, y, weight, _squares))


@fix_leak.mistake(
    en="After the call `.grad` is empty: the gradients were cleared after the backward pass instead of before it.",
    ru="После вызова поле `.grad` пусто: градиенты обнулены после обратного прохода, а не до него.",
)
def clears_afterwards(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = _by_grad(model, x, y, weight, _squares)
    model.zero_grad()
    return loss


@fix_leak.mistake(
    en="What `.grad` held before is still in it, and it has entered the penalty, too.",
    ru="В `.grad` осталось то, что там было раньше, и оно попало ещё и в штраф.",
)
def penalises_the_old_gradient(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)  # type: ignore[no-untyped-call]
    (weight * _squares([p.grad for p in model.parameters()])).backward(retain_graph=True)
    return loss.item()


@fix_leak.mistake(
    en="The length of all gradients together was penalised, not its square.",
    ru="В штраф вошла длина всех градиентов вместе, а не её квадрат.",
)
def penalises_the_length_of_all(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: flat(gradients).norm())


@fix_leak.mistake(
    en="The penalty is made of means of the squares. The squares are summed.",
    ru="Штраф составлен из средних значений квадратов. Квадраты нужно складывать.",
)
def means_of_squares(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: sum((g**2).mean() for g in gradients))


@fix_leak.mistake(
    en="The entries of a gradient were added and the sum was squared. Each entry is squared, and then they are added.",
    ru="Элементы градиента сложены, а потом сумма возведена в квадрат. Нужно возвести в квадрат каждый элемент и сложить.",
)
def squares_of_sums(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: sum(g.sum() ** 2 for g in gradients))


@fix_leak.mistake(
    en="The biases are missing in the penalty: it takes the gradients of all parameters.",
    ru="В штраф не вошли смещения, а нужны градиенты всех параметров.",
)
def without_the_biases(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda gradients: _squares([g for g in gradients if g.dim() > 1]))


@fix_leak.mistake(
    en="The weights were penalised, not the gradients.",
    ru="В штраф вошли веса, а не градиенты.",
)
def penalises_the_weights(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    return _by_grad(model, x, y, weight, lambda _: _squares(list(model.parameters())))


@fix_leak.mistake(
    en="Gradients and loss are right, but memory stays in use: something outlives the call, such as a list or an "
    "attribute of the model that refers to a tensor with a graph.",
    ru="Градиенты и значение верны, но часть памяти остаётся занятой: что-то сохраняется после вызова, например список "
    "или атрибут модели со ссылкой на тензор с графом.",
)
def keeps_the_graph_elsewhere(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    kept = model.__dict__.setdefault("kept", [])

    def penalise(gradients: Any) -> Any:
        kept.extend(gradients)
        return _squares(gradients)

    return _by_grad(model, x, y, weight, penalise)


@fix_leak.mistake(
    en="The weights have changed during the call. The step computes gradients and leaves the weights alone.",
    ru="За время вызова изменились веса. Функция вычисляет градиенты, а веса не меняет.",
)
def steps_as_well(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = _by_grad(model, x, y, weight, _squares)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    return loss


@fix_leak.mistake(
    en="The first error is back: a pass goes through a graph that is freed. Either the inner gradient was computed without "
    "`create_graph=True`, or what is in `.grad` from the step before still has its graph: clear it first.",
    ru="Вернулась первая ошибка: проход идёт по уже освобождённому графу. Либо внутренний градиент вычислен без "
    "`create_graph=True`, либо у того, что осталось в `.grad` с прошлого шага, есть граф: сначала обнулите это поле.",
)
def only_frees(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)  # type: ignore[no-untyped-call]
    (weight * _squares([p.grad for p in model.parameters()])).backward()
    return loss.item()


@fix_leak.mistake(
    en="What `.grad` held before has entered the penalty: it is cleared only afterwards.",
    ru="В штраф вошло то, что лежало в `.grad` раньше: обнуляется оно только потом.",
)
def clears_after_the_penalty(model: Any, x: Tensor, y: Tensor, weight: float) -> float:
    loss = mse_loss(model(x), y)
    loss.backward(create_graph=True)  # type: ignore[no-untyped-call]
    penalty = _squares([p.grad for p in model.parameters()])
    model.zero_grad()
    (loss + weight * penalty).backward()
    return loss.item()
