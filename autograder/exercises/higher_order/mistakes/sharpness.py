# %%
import torch
from torch.nn.functional import mse_loss

from ..common import flat


def _weights(model):
    return [p for p in model.parameters() if p.requires_grad]


def _gradient(model, x, y, reduction="mean"):
    loss = mse_loss(model(x), y, reduction=reduction)
    return flat(list(torch.autograd.grad(loss, _weights(model), create_graph=True, materialize_grads=True)))


def _product(g, model, v, create_graph=False):
    found = torch.autograd.grad(
        g, _weights(model), v, retain_graph=True, create_graph=create_graph, materialize_grads=True
    )
    return flat(list(found))


def _iterate(multiply, v, steps):
    length = v.norm()
    for _ in range(steps):
        product = multiply(v)
        length = product.norm()
        v = product / length
    return length, v

# %% mistake="never_divides" theme="scaling"
# The vector was not divided by its length after a product: the length grows like a power of the curvature.
# После умножения вектор не разделён на свою длину: длина растёт как степень кривизны.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    for _ in range(steps):
        v = _product(g, model, v)
    return v.norm(), v

# %% mistake="vector_with_a_graph" theme="recording"
# `v` has a graph. It comes from a product with `create_graph=True`, and its own dependence on the weights was
#     differentiated, too.
# У вектора `v` есть граф: он получен из произведения с `create_graph=True`, и вместе с градиентом
#     продифференцирована зависимость этого вектора от весов.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)

    def multiply(v):
        found = torch.autograd.grad(g @ v, _weights(model), create_graph=True, materialize_grads=True)
        return flat(list(found))

    return _iterate(multiply, v, steps)

# %% mistake="gradient_in_each_step" theme="cost"
# The gradient is computed anew in each step, with a call of the model and a backward pass. The weights do not
#     change, so one graph serves all steps.
# Градиент на каждом шаге вычисляется заново: это ещё один вызов модели и ещё один обратный проход. Веса не
#     меняются, поэтому на все шаги хватит одного графа.
def sharpness(model, x, y, v, steps):
    return _iterate(lambda v: _product(_gradient(model, x, y), model, v), v, steps)

# %% mistake="hessian_by_rows" theme="cost"
# The whole Hessian was built row by row, with a backward pass for each of its n rows.
# Построена вся матрица Гессе, строка за строкой: на каждую из n строк приходится обратный проход.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    hessian = torch.stack([_product(g, model, unit) for unit in torch.eye(len(g), dtype=g.dtype)])
    return _iterate(lambda v: hessian @ v, v, steps)

# %% mistake="hessian_in_a_batch" theme="cost"
# The passes are few, but the whole Hessian was built: a tensor of n × n elements.
# Проходов немного, но построена вся матрица Гессе: тензор из n × n элементов.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    units = torch.eye(len(g), dtype=g.dtype)
    hessian = torch.func.vmap(lambda unit: _product(g, model, unit))(units)
    return _iterate(lambda v: hessian @ v, v, steps)

# %% mistake="outer_product" theme="derivative"
# The Hessian was replaced by `g gᵀ`, a product of first derivatives.
# Матрица Гессе заменена на `g gᵀ`, произведение первых производных.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y).detach()
    return _iterate(lambda v: g * (g @ v), v, steps)

# %% mistake="one_product_less" theme="missing"
# There is one product less than `steps`.
# Произведений на одно меньше, чем `steps`.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps - 1)

# %% mistake="quotient_of_rayleigh" theme="own"
# The first number is `v @ Hv` for the vector before the product. The length of the product itself is asked for; the
#     two agree only in the limit.
# Первое число — `v @ Hv` для вектора до умножения. Нужна длина самого произведения; эти числа совпадают лишь в
#     пределе.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    _, before = _iterate(lambda v: _product(g, model, v), v, steps - 1)
    product = _product(g, model, before)
    return before @ product, product / product.norm()

# %% mistake="sums_the_errors" theme="scaling"
# The squared errors were summed. The loss is their mean, and so is the curvature.
# Квадраты ошибок сложены. Функция потерь — их среднее, и нужна её кривизна.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y, reduction="sum")
    return _iterate(lambda v: _product(g, model, v), v, steps)

# %% mistake="by_backward" theme="accumulation"
# The result is right, but `backward()` changed `.grad` of the weights. `autograd.grad` leaves it alone.
# Результат верен, но метод `backward()` изменил `.grad` весов. Функция `autograd.grad` их не меняет.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)

    def multiply(v):
        for p in _weights(model):
            p.grad = torch.zeros_like(p)
        g.backward(v, retain_graph=True)
        return flat([p.grad for p in _weights(model) if p.grad is not None])

    return _iterate(multiply, v, steps)

# %% mistake="undivided_at_the_end" theme="scaling"
# The last vector was not divided by its length.
# Последний вектор не разделён на свою длину.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    length, unit = _iterate(lambda v: _product(g, model, v), v, steps)
    return length, length * unit

# %% mistake="first_length" theme="missing"
# The length of the first product was returned. Asked for is that of the last.
# Возвращена длина первого произведения, а нужна длина последнего.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    return _product(g, model, v).norm(), _iterate(lambda v: _product(g, model, v), v, steps)[1]

# %% mistake="length_of_the_unit" theme="order"
# The length was taken after the division, so it is 1. Asked for is the length before it.
# Длина взята после деления и потому равна 1. Нужна длина до деления.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    unit = _iterate(lambda v: _product(g, model, v), v, steps)[1]
    return unit.norm(), unit

# %% mistake="squared_length" theme="own"
# The square of the length was taken: the root is missing.
# Взят квадрат длины: не извлечён корень.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    for _ in range(steps):
        product = _product(g, model, v)
        length = product @ product
        v = product / length
    return length, v

# %% mistake="turns_the_sign" theme="derivative"
# The sign of a vector was turned so that it points along the previous one. A product with a negative eigenvalue
#     turns it, and the result keeps that sign.
# Знак вектора изменён, чтобы он был направлен вдоль предыдущего. При отрицательном собственном значении
#     произведение меняет направление, и в результате этот знак остаётся.
def sharpness(model, x, y, v, steps):
    g, length = _gradient(model, x, y), v.norm()
    for _ in range(steps):
        product = _product(g, model, v)
        length = product.norm()
        v = product / length * torch.sign(product @ v)
    return length, v

# %% mistake="each_part_divided" theme="own"
# The part of each parameter was divided by a length of its own. The vector has one length, over all parameters.
# Часть вектора для каждого параметра разделена на свою длину. А длина у вектора одна, по всем параметрам.
def sharpness(model, x, y, v, steps):
    g, length, sizes = _gradient(model, x, y), v.norm(), [p.numel() for p in _weights(model)]
    for _ in range(steps):
        product = _product(g, model, v)
        length = product.norm()
        v = torch.cat([part / (part.norm() + 1e-30) for part in product.split(sizes)])
    return length, v

# %% mistake="in_the_order_of_names" theme="order"
# The parameters are in the order of their names. Asked for is the order of `model.parameters()`.
# Параметры взяты в порядке имён, а нужен порядок `model.parameters()`.
def sharpness(model, x, y, v, steps):
    weights = [p for _, p in sorted(model.named_parameters()) if p.requires_grad]
    loss = mse_loss(model(x), y)
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)))

    def multiply(v):
        return flat(list(torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)

# %% mistake="sums_of_rows" theme="axes"
# A diagonal was put in place of the Hessian: the sums of its rows, by one product with a vector of ones.
# Вместо матрицы Гессе взята диагональная: суммы её строк, полученные одним умножением на вектор из единиц.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    sums = _product(g, model, torch.ones_like(g))
    return _iterate(lambda v: sums * v, v, steps)

# %% mistake="gauss_newton" theme="derivative"
# This is the Gauss-Newton matrix: the second derivatives of the model are missing.
# Это матрица Гаусса — Ньютона: потеряны вторые производные модели.
def sharpness(model, x, y, v, steps):
    output, weights = model(x), _weights(model)
    into = torch.zeros_like(output, requires_grad=True)
    found = torch.autograd.grad(output, weights, into, create_graph=True, materialize_grads=True)

    def multiply(v):
        (pushed,) = torch.autograd.grad(flat(list(found)), into, v, retain_graph=True)
        by = 2 * pushed / output.numel()
        return flat(list(torch.autograd.grad(output, weights, by, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)

# %% mistake="leaves_it_in_eval" theme="state"
# The result is right, but the model stays in evaluation mode. Nothing here depends on the mode.
# Результат верен, но модель остаётся в режиме оценки. Здесь от режима ничего не зависит.
def sharpness(model, x, y, v, steps):
    g = _gradient(model.eval(), x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps)

# %% mistake="without_create_graph" theme="graph_life"
# What is differentiated has no graph. So it is with a gradient without `create_graph=True`, or after `detach()`.
# Дифференцируется то, у чего нет графа. Так бывает с градиентом без `create_graph=True`, а также после `detach()`.
def sharpness(model, x, y, v, steps):
    loss = mse_loss(model(x), y)
    g = flat(list(torch.autograd.grad(loss, _weights(model), retain_graph=True, materialize_grads=True)))
    return _iterate(lambda v: _product(g, model, v), v, steps)

# %% mistake="frees_the_graph" theme="graph_life"
# The graph of the gradient was freed by the first product. `retain_graph=True` keeps it for the next one.
# Первое умножение освободило то, что сохранено в графе градиента. Для следующего это сохраняет `retain_graph=True`.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, _weights(model), v, materialize_grads=True))), v, steps)

# %% mistake="trips_over_the_unused" theme="missing"
# A weight that the loss does not depend on was not expected. It has zeros: `materialize_grads=True`.
# Не учтён вес, от которого функция потерь не зависит. Для него нужны нули: `materialize_grads=True`.
def sharpness(model, x, y, v, steps):
    loss, weights = mse_loss(model(x), y), _weights(model)
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True)))
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, weights, v, retain_graph=True))), v, steps)

# %% mistake="frozen_ones_too" theme="recording"
# Frozen parameters were not left out. The weights are the parameters that require grad.
# Не исключены замороженные параметры. Веса — это параметры, которые требуют градиента.
def sharpness(model, x, y, v, steps):
    loss, weights = mse_loss(model(x), y), list(model.parameters())
    g = flat(list(torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)))

    def multiply(v):
        return flat(list(torch.autograd.grad(g, weights, v, retain_graph=True, materialize_grads=True)))

    return _iterate(multiply, v, steps)

# %% mistake="length_of_one_more" theme="order"
# The length is that of one more product, with the vector that is returned. Asked for is that of the last product.
# Взята длина ещё одного произведения, с тем вектором, который возвращается. А нужна длина последнего.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    _, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return _product(g, model, v).norm(), v

# %% mistake="swaps_the_results" theme="missing"
# The first result is no number. The length comes first, then the vector.
# Первый результат — не число. Сначала должна идти длина, потом вектор.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    length, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return v, length

# %% mistake="returns_the_square" like="squared_length"
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    length, v = _iterate(lambda v: _product(g, model, v), v, steps)
    return length**2, v

# %% mistake="leaves_out_the_unused" theme="missing"
# Weights that the loss does not depend on are left out, and `v` no longer fits. They have rows and columns of
#     zeros.
# Веса, от которых функция потерь не зависит, исключены, и вектор `v` больше не подходит. А в их строках и столбцах
#     нули.
def sharpness(model, x, y, v, steps):
    weights = _weights(model)
    found = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, allow_unused=True)
    used = [p for p, g in zip(weights, found) if g is not None]
    g = flat([part for part in found if part is not None])
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, used, v, retain_graph=True))), v, steps)

# %% mistake="puts_it_into_training" theme="state"
# A model that came in evaluation mode is in training mode afterwards. `train()` is not the opposite of `eval()` where
#     the mode was another one before: keep `model.training`.
# Модель, переданная в режиме `eval()`, после вызова находится в режиме обучения. Вызов `train()` не
#     восстанавливает прежний режим, если тот был другим: запомните `model.training`.
def sharpness(model, x, y, v, steps):
    model.train()
    g = _gradient(model, x, y)
    return _iterate(lambda v: _product(g, model, v), v, steps)

# %% mistake="frozen_and_unused_too" like="frozen_ones_too"
def sharpness(model, x, y, v, steps):
    weights = list(model.parameters())
    g = flat(list(torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True)))
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, weights, v, retain_graph=True))), v, steps)

# %% mistake="frozen_too_and_none_for_the_unused" like="frozen_ones_too"
def sharpness(model, x, y, v, steps):
    weights = list(model.parameters())
    found = torch.autograd.grad(mse_loss(model(x), y), weights, create_graph=True, allow_unused=True)
    g = torch.cat([each.flatten() for each in found])
    return _iterate(lambda v: flat(list(torch.autograd.grad(g, weights, v, retain_graph=True))), v, steps)

# %% mistake="one_step_alone" theme="missing"
# There is one product only. The product and the division are to be repeated `steps` times.
# Произведение вычислено только одно. Умножение и деление нужно повторить `steps` раз.
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    return _iterate(lambda v: _product(g, model, v), v, 1)

# %% mistake="clears_what_backward_left" like="by_backward"
def sharpness(model, x, y, v, steps):
    mse_loss(model(x), y).backward(create_graph=True)
    g = flat([torch.zeros_like(p) if p.grad is None else p.grad for p in _weights(model)])
    found = _iterate(lambda v: _product(g, model, v), v, steps)
    for p in _weights(model):
        p.grad = None
    return found

# %% mistake="divides_at_the_end_alone" like="never_divides"
def sharpness(model, x, y, v, steps):
    g = _gradient(model, x, y)
    for _ in range(steps):
        v = _product(g, model, v)
    return v.norm(), v / v.norm()
