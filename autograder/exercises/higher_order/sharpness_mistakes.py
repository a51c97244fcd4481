"""The mistakes in `sharpness`, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from .common import flat
from .sharpness import _weights, sharpness


def _gradient(model: Any, x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    loss = mse_loss(model(x), y, reduction=reduction)
    return flat(list(torch.autograd.grad(loss, _weights(model), create_graph=True, materialize_grads=True)))


def _product(g: Tensor, model: Any, v: Tensor, create_graph: bool = False) -> Tensor:
    found = torch.autograd.grad(
        g, _weights(model), v, retain_graph=True, create_graph=create_graph, materialize_grads=True
    )
    return flat(list(found))


def _iterate(multiply: Callable[[Tensor], Tensor], v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    length = v.norm()
    for _ in range(steps):
        product = multiply(v)
        length = product.norm()
        v = product / length
    return length, v


@sharpness.mistake(
    en="The vector was not divided by its length after a product: the length grows like a power of the curvature.",
    ru="После умножения вектор не разделён на свою длину: длина растёт как степень кривизны.",
)
def never_divides(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    for _ in range(steps):
        v = _product(g, model, v)
    return v.norm(), v


@sharpness.mistake(
    en="`v` has a graph. It comes from a product with `create_graph=True`, and its own dependence on the weights was "
    "differentiated, too.",
    ru="У вектора `v` есть граф: он получен из произведения с `create_graph=True`, и вместе с градиентом продифференцирована "
    "зависимость этого вектора от весов.",
)
def vector_with_a_graph(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)

    def multiply(v: Tensor) -> Tensor:
        found = torch.autograd.grad(g @ v, _weights(model), create_graph=True, materialize_grads=True)
        return flat(list(found))

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="The gradient is computed anew in each step, with a call of the model and a backward pass. The weights do not "
    "change, so one graph serves all steps.",
    ru="Градиент на каждом шаге вычисляется заново: это ещё один вызов модели и ещё один обратный проход. Веса не "
    "меняются, поэтому на все шаги хватит одного графа.",
)
def gradient_in_each_step(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    return _iterate(lambda v: _product(_gradient(model, x, y), model, v), v, steps)


@sharpness.mistake(
    en="The whole Hessian was built row by row, with a backward pass for each of its n rows.",
    ru="Построена вся матрица Гессе, строка за строкой: на каждую из n строк приходится обратный проход.",
)
def hessian_by_rows(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    hessian = torch.stack([_product(g, model, unit) for unit in torch.eye(len(g), dtype=g.dtype)])
    return _iterate(lambda v: hessian @ v, v, steps)


@sharpness.mistake(
    en="The passes are few, but the whole Hessian was built: a tensor of n × n elements.",
    ru="Проходов немного, но построена вся матрица Гессе: тензор из n × n элементов.",
)
def hessian_in_a_batch(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    units = torch.eye(len(g), dtype=g.dtype)
    hessian: Any = torch.func.vmap(lambda unit: _product(g, model, unit))(units)
    return _iterate(lambda v: hessian @ v, v, steps)


@sharpness.mistake(
    en="The Hessian was replaced by `g gᵀ`, a product of first derivatives.",
    ru="Матрица Гессе заменена на `g gᵀ`, произведение первых производных.",
)
def outer_product(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y).detach()
    return _iterate(lambda v: g * (g @ v), v, steps)


@sharpness.mistake(
    en="There is one product less than `steps`.",
    ru="Произведений на одно меньше, чем `steps`.",
)
def one_product_less(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps - 1)


@sharpness.mistake(
    en="The first number is `v @ Hv` for the vector before the product. The length of the product itself is asked for; "
    "the two agree only in the limit.",
    ru="Первое число — `v @ Hv` для вектора до умножения. Нужна длина самого произведения; эти числа совпадают лишь в "
    "пределе.",
)
def quotient_of_rayleigh(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    _, before = _iterate(lambda v: _product(g, model, v), v, steps - 1)
    product = _product(g, model, before)
    return before @ product, product / product.norm()


@sharpness.mistake(
    en="The squared errors were summed. The loss is their mean, and so is the curvature.",
    ru="Квадраты ошибок сложены. Функция потерь — их среднее, и нужна её кривизна.",
)
def sums_the_errors(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y, reduction="sum")
    return _iterate(lambda v: _product(g, model, v), v, steps)


@sharpness.mistake(
    en="The result is right, but `backward()` changed `.grad` of the weights. `autograd.grad` leaves it alone.",
    ru="Результат верен, но метод `backward()` изменил `.grad` весов. Функция `autograd.grad` их не меняет.",
)
def by_backward(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)

    def multiply(v: Tensor) -> Tensor:
        for p in _weights(model):
            p.grad = torch.zeros_like(p)
        g.backward(v, retain_graph=True)  # type: ignore[no-untyped-call]
        return flat([p.grad for p in _weights(model) if p.grad is not None])

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="The last vector was not divided by its length.",
    ru="Последний вектор не разделён на свою длину.",
)
def undivided_at_the_end(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    length, unit = _iterate(lambda v: _product(g, model, v), v, steps)
    return length, length * unit


@sharpness.mistake(
    en="The length of the first product was returned. Asked for is that of the last.",
    ru="Возвращена длина первого произведения, а нужна длина последнего.",
)
def first_length(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    return _product(g, model, v).norm(), _iterate(lambda v: _product(g, model, v), v, steps)[1]


@sharpness.mistake(
    en="The length was taken after the division, so it is 1. Asked for is the length before it.",
    ru="Длина взята после деления и потому равна 1. Нужна длина до деления.",
)
def length_of_the_unit(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    unit = _iterate(lambda v: _product(g, model, v), v, steps)[1]
    return unit.norm(), unit


@sharpness.mistake(
    en="The square of the length was taken: the root is missing.",
    ru="Взят квадрат длины: не извлечён корень.",
)
def squared_length(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    for _ in range(steps):
        product = _product(g, model, v)
        length = product @ product
        v = product / length
    return length, v


@sharpness.mistake(
    en="The sign of a vector was turned so that it points along the previous one. A product with a negative eigenvalue "
    "turns it, and the result keeps that sign.",
    ru="Знак вектора изменён, чтобы он был направлен вдоль предыдущего. При отрицательном собственном значении "
    "произведение меняет направление, и в результате этот знак остаётся.",
)
def turns_the_sign(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g, length = _gradient(model, x, y), v.norm()
    for _ in range(steps):
        product = _product(g, model, v)
        length = product.norm()
        v = product / length * torch.sign(product @ v)
    return length, v


@sharpness.mistake(
    en="The part of each parameter was divided by a length of its own. The vector has one length, over all parameters.",
    ru="Часть вектора для каждого параметра разделена на свою длину. А длина у вектора одна, по всем параметрам.",
)
def each_part_divided(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g, length, sizes = _gradient(model, x, y), v.norm(), [p.numel() for p in _weights(model)]
    for _ in range(steps):
        product = _product(g, model, v)
        length = product.norm()
        v = torch.cat([part / (part.norm() + 1e-30) for part in product.split(sizes)])
    return length, v


@sharpness.mistake(
    en="The parameters are in the order of their names. Asked for is the order of `model.parameters()`.",
    ru="Параметры взяты в порядке имён, а нужен порядок `model.parameters()`.",
)
def in_the_order_of_names(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    weights = [p for _, p in sorted(model.named_parameters()) if p.requires_grad]
    loss = mse_loss(model(x), y)
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)))

    def multiply(v: Tensor) -> Tensor:
        return flat(list(torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="A diagonal was put in place of the Hessian: the sums of its rows, by one product with a vector of ones.",
    ru="Вместо матрицы Гессе взята диагональная: суммы её строк, полученные одним умножением на вектор из единиц.",
)
def sums_of_rows(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    sums = _product(g, model, torch.ones_like(g))
    return _iterate(lambda v: sums * v, v, steps)


@sharpness.mistake(
    en="This is the Gauss-Newton matrix: the second derivatives of the model are missing.",
    ru="Это матрица Гаусса — Ньютона: потеряны вторые производные модели.",
)
def gauss_newton(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    output, weights = model(x), _weights(model)
    into = torch.zeros_like(output, requires_grad=True)
    found = torch.autograd.grad(output, weights, into, create_graph=True, materialize_grads=True)

    def multiply(v: Tensor) -> Tensor:
        (pushed,) = torch.autograd.grad(flat(list(found)), into, v, retain_graph=True)
        by = 2 * pushed / output.numel()
        return flat(list(torch.autograd.grad(output, weights, by, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="The result is right, but the model stays in evaluation mode. Nothing here depends on the mode.",
    ru="Результат верен, но модель остаётся в режиме оценки. Здесь от режима ничего не зависит.",
)
def leaves_it_in_eval(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model.eval(), x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps)


@sharpness.mistake(
    en="The gradient has no graph: without `create_graph=True` it cannot be differentiated again.",
    ru="У градиента нет графа: без `create_graph=True` его нельзя продифференцировать ещё раз.",
)
def without_create_graph(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    loss = mse_loss(model(x), y)
    g = flat(list(torch.autograd.grad(loss, _weights(model), retain_graph=True, materialize_grads=True)))
    return _iterate(lambda v: _product(g, model, v), v, steps)


@sharpness.mistake(
    en="The graph of the gradient was freed by the first product. `retain_graph=True` keeps it for the next one.",
    ru="Граф градиента освобождён при первом умножении. Для следующего его сохраняет `retain_graph=True`.",
)
def frees_the_graph(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, _weights(model), v, materialize_grads=True))), v, steps)


@sharpness.mistake(
    en="A weight that the loss does not depend on was not expected. It has zeros: `materialize_grads=True`.",
    ru="Не учтён вес, от которого функция потерь не зависит. Для него нужны нули: `materialize_grads=True`.",
)
def trips_over_the_unused(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    loss, weights = mse_loss(model(x), y), _weights(model)
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True)))
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, weights, v, retain_graph=True))), v, steps)


@sharpness.mistake(
    en="Frozen parameters were not left out. The weights are the parameters that require grad.",
    ru="Не исключены замороженные параметры. Веса — это параметры, которые требуют градиента.",
)
def frozen_ones_too(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    loss, weights = mse_loss(model(x), y), list(model.parameters())
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)))

    def multiply(v: Tensor) -> Tensor:
        return flat(list(torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)


@sharpness.mistake(
    en="The length is that of one more product, with the vector that is returned. Asked for is that of the last product.",
    ru="Взята длина ещё одного произведения, с тем вектором, который возвращается. А нужна длина последнего.",
)
def length_of_one_more(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    _, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return _product(g, model, v).norm(), v


@sharpness.mistake(
    en="The first result is no number. The length comes first, then the vector.",
    ru="Первый результат — не число. Сначала должна идти длина, потом вектор.",
)
def swaps_the_results(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    length, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return v, length


@sharpness.mistake(*sharpness.mistakes["squared_length"].says)
def returns_the_square(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    g = _gradient(model, x, y)
    length, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return length**2, v


@sharpness.mistake(
    en="Weights that the loss does not depend on are left out, and `v` no longer fits. They have rows and columns of zeros.",
    ru="Веса, от которых функция потерь не зависит, исключены, и вектор `v` больше не подходит. А в их строках и столбцах "
    "нули.",
)
def leaves_out_the_unused(model: Any, x: Tensor, y: Tensor, v: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    weights = _weights(model)
    found = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, allow_unused=True)
    used = [p for p, g in zip(weights, found) if g is not None]
    g = flat([part for part in found if part is not None])
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, used, v, retain_graph=True))), v, steps)
