"""Extra exercise: repair a graph that `Variable` has cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Variable

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text


def _count_leaves(root: Tensor) -> int:
    """Return the number of leaves that a backward pass from `root` would reach."""
    waiting, seen = [root.grad_fn], set[object]()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return sum(node.name().endswith("AccumulateGrad") for node in seen)  # type: ignore[attr-defined]


@exercise(
    title=Text("Half of the weights learn", "Обучается половина весов"),
    kind="find the bug",
    minutes=4,
    aspects=[
        aspect(
            "loss",
            0,
            en="The value of the loss is the same, and `.grad` of both weights is still None: `backward()` is for the "
            "caller.",
            ru="Значение функции потерь не изменилось, а в `.grad` обоих весов пока лежит None: `backward()` вызовут "
            "снаружи.",
        ),
        aspect(
            "w.grad",
            2,
            en="After `loss.backward()` the first weight has its gradient.",
            ru="После `loss.backward()` у первого веса есть его градиент.",
        ),
        aspect(
            "u.grad",
            1,
            en="After `loss.backward()` the second weight has its gradient.",
            ru="После `loss.backward()` у второго веса есть его градиент.",
            after=("loss", "w.grad"),
        ),
    ],
    hints=[
        Text(
            "Which leaves does the graph of the loss lead to? Look at `h.grad_fn`.",
            "К каким листьям ведёт граф функции потерь? Посмотрите на `h.grad_fn`.",
        ),
        Text(
            "A tensor is a `Variable` since torch 0.4. What does `Variable(h)` still do, then?",
            "Начиная с torch 0.4 тензор и есть `Variable`. Что же тогда ещё делает `Variable(h)`?",
        ),
        Text("h = (x @ w).tanh()\n...", "h = (x @ w).tanh()\n..."),
    ],
)
def two_layer_loss(answer: Any, case: Case) -> dict[str, object]:
    w, u = (tensor.detach().clone().requires_grad_() for tensor in (case.w, case.u))
    loss = answer.two_layer_loss(case.x, w, u)
    value = {"loss": loss, "w.grad before backward()": w.grad, "u.grad before backward()": u.grad}
    if not isinstance(loss, Tensor) or w.grad is not None or u.grad is not None:
        return {"loss": value}
    with using_answer():
        reached = _count_leaves(loss)
        loss.backward()
    return {"loss": value, "w.grad": w.grad, "u.grad": u.grad, "reached": reached}


@two_layer_loss.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 4, 2), w=leaf(rng, 2, 3), u=leaf(rng, 3, 1))
    yield Case(x=signed(rng, 2, 3), w=leaf(rng, 3, 2), u=leaf(rng, 2, 2))


@two_layer_loss.mistake(
    en="The graph is still cut before `h`. `.data`, `detach()`, `no_grad()` and `Variable`, around a weight or around "
    "a result, hand on the numbers without their history.",
    ru="Граф по-прежнему обрывается перед `h`. Если к весу или к результату применить `.data`, `detach()`, `no_grad()` "
    "или `Variable`, дальше идут числа без истории.",
)
def cuts_in_another_way(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh().detach() @ u).square().mean()


@two_layer_loss.mistake(
    en="A new leaf was put before the loss, between the layers or in the place of `w`. It requires grad and takes the "
    "gradient itself; the `w` of the caller gets none.",
    ru="Перед функцией потерь, между слоями или вместо `w` поставлен новый лист. Он требует градиента, и весь градиент "
    "достаётся ему, а тензор `w` вызывающего кода не получает ничего.",
)
def starts_a_new_leaf(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    h = Variable((x @ w).tanh(), requires_grad=True)  # type: ignore[no-untyped-call]
    return (h @ u).square().mean()


@two_layer_loss.mistake(
    en="The loss was made a leaf that requires grad. `backward()` runs and has nowhere to go: no weight gets anything.",
    ru="Листом, который требует градиента, сделано само значение функции потерь. Проход `backward()` выполняется, но "
    "идти ему некуда: веса не получают ничего.",
)
def makes_the_loss_a_leaf(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().mean().detach().requires_grad_()


@two_layer_loss.mistake(
    en="The cut has moved: now the second weight is wrapped or detached, and it is left without a gradient.",
    ru="Разрыв переместился: теперь обёрнут или отсоединён второй вес, и без градиента остался он.",
)
def moves_the_cut(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u.detach()).square().mean()


@two_layer_loss.mistake(
    en="`backward()` is called inside the function. The caller will call it too: that pass would find the graph freed, "
    "or add the gradient once more.",
    ru="Метод `backward()` вызван внутри функции. Его вызовут и снаружи: тот проход застанет граф уже освобождённым "
    "или прибавит градиент ещё раз.",
)
def goes_backward_itself(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    loss = ((x @ w).tanh() @ u).square().mean()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


@two_layer_loss.mistake(
    en="The sum of the squares was returned. The loss is their mean.",
    ru="Возвращена сумма квадратов, а функция потерь — их среднее.",
)
def takes_the_sum(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().sum()


@two_layer_loss.mistake(
    en="The loss is a Python number. It has no graph, and the caller cannot call `backward()`.",
    ru="Значение функции потерь — обычное число Python. Графа у него нет, и вызвать `backward()` нельзя.",
)
def returns_a_number(x: Tensor, w: Tensor, u: Tensor) -> float:
    return ((x @ w).tanh() @ u).square().mean().item()


@two_layer_loss.mistake(
    en="`tanh` is missing between the two layers.",
    ru="Между двумя слоями потерян `tanh`.",
)
def loses_the_tanh(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w) @ u).square().mean()


@two_layer_loss.mistake(
    en="The loss has no graph: everything was computed under `no_grad()`, or the loss itself was wrapped or detached.",
    ru="У значения функции потерь нет графа: либо всё вычислено внутри `no_grad()`, либо обёрнуто или отсоединено само "
    "это значение.",
)
def cuts_off_the_loss(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().mean().detach()


@two_layer_loss.mistake(
    en="The mean was taken over one dimension. The loss is one number, of shape `()`.",
    ru="Среднее взято по одному измерению. Значение функции потерь — одно число, его форма `()`.",
)
def averages_one_dimension(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().mean(0)


@two_layer_loss.mistake(
    en="The loss has a dimension. Asked for is the shape `()`.",
    ru="У значения функции потерь есть измерение, а нужна форма `()`.",
)
def keeps_a_dimension(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().mean().reshape(1)


@two_layer_loss.mistake(
    en="The mean was squared. The loss is the mean of the squares.",
    ru="В квадрат возведено среднее, а функция потерь — среднее квадратов.",
)
def squares_the_mean(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).mean().square()


@two_layer_loss.mistake(
    en="The square is missing: this is the mean of the outputs.",
    ru="Нет возведения в квадрат: это среднее самих выходов.",
)
def loses_the_square(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).mean()
