# %%
import torch
from torch.autograd import functional

from ..common import tracked


def _gradient(f, x):
    """Return the gradient of `f` at `x`, itself with a graph."""
    return torch.autograd.grad(f(x), x, create_graph=True)[0]

# %% mistake="no_graph_behind" theme="graph_life"
# A tensor without a graph is differentiated. So it is in the first call of `grad` when `x` does not require grad
#     (a copy is needed that does), and in the second without `create_graph=True` in the first (`retain_graph=True`
#     only keeps the old graph).
# Дифференцируется тензор без графа. Так бывает в первом вызове `grad`, если `x` не требует градиента (нужна копия,
#     которая требует), а во втором — если в первом нет `create_graph=True` (`retain_graph=True` лишь сохраняет старый
#     граф).
def hvp(f, x, v):
    x = tracked(x)
    (g,) = torch.autograd.grad(f(x), x, retain_graph=True)
    return torch.autograd.grad(g @ v, x)[0]

# %% mistake="gradient_of_its_square" theme="derivative"
# The gradient of `g @ g` was taken: that is `2 H g`. In `g @ v`, the second factor is constant.
# Взят градиент `g @ g`, а это `2 H g`. Во втором множителе должен стоять постоянный вектор, как в `g @ v`.
def hvp(f, x, v):
    x = tracked(x)
    g = _gradient(f, x)
    return torch.autograd.grad(g @ g, x)[0]

# %% mistake="row_sums" theme="axes"
# The sum of the gradient's entries was differentiated: that gives the row sums of `H`, without `v`.
# Продифференцирована сумма элементов градиента: получились суммы строк `H`, без `v`.
def hvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0]

# %% mistake="row_sums_for_a_diagonal" theme="axes"
# The row sums of `H` were taken for its diagonal and multiplied by `v` entry by entry.
# Суммы строк `H` приняты за её диагональ и поэлементно умножены на `v`.
def hvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x).sum(), x)[0] * v

# %% mistake="slope_along_v" theme="missing"
# One number was returned, `g @ v`. It still has to be differentiated.
# Возвращено одно число, `g @ v`. Его ещё нужно продифференцировать.
def hvp(f, x, v):
    return _gradient(f, tracked(x)) @ v

# %% mistake="plain_gradient" theme="missing"
# The gradient itself was returned. It still has to be multiplied by `v` and differentiated.
# Возвращён сам градиент. Его ещё нужно умножить на `v` и продифференцировать.
def hvp(f, x, v):
    return _gradient(f, tracked(x))

# %% mistake="gradient_weighed" theme="missing"
# The gradient was multiplied by `v` entry by entry: no second derivative was taken.
# Градиент поэлементно умножен на `v`: вторая производная не взята.
def hvp(f, x, v):
    return _gradient(f, tracked(x)) * v

# %% mistake="value_of_f" theme="missing"
# The value `f(x)` was returned. In the pair of `functional.hvp` the product is the second entry.
# Возвращено значение `f(x)`. В паре из `functional.hvp` произведение — второй элемент.
def hvp(f, x, v):
    return f(x)

# %% mistake="outer_product" theme="derivative"
# The Hessian was replaced by `g gᵀ`, a product of first derivatives.
# Матрица Гессе заменена на `g gᵀ`, произведение первых производных.
def hvp(f, x, v):
    g = _gradient(f, tracked(x))
    return g * (g @ v)

# %% mistake="both_in_grad" theme="accumulation"
# The results of both passes were added up in `.grad`: it holds the gradient plus `H v`.
# Результаты обоих проходов сложились в `.grad`: там градиент плюс `H v`.
def hvp(f, x, v):
    x = tracked(x)
    f(x).backward(create_graph=True)
    assert x.grad is not None
    (x.grad @ v).backward()
    found, x.grad = x.grad, None  # or else the graph and the gradient keep each other alive
    return found.detach()

# %% mistake="returns_the_tuple" theme="missing"
# What comes back holds the product, such as the tuple of `torch.autograd.grad`. Asked for is the tensor in it.
# Возвращено не само произведение, а то, в чём оно лежит, например кортеж из `torch.autograd.grad`. Нужен тензор из
#     него.
def hvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x) @ v, x)

# %% mistake="returns_value_and_product" theme="missing"
# The whole pair of `functional.hvp` was returned, value and product. Only the product is asked for.
# Возвращена вся пара из `functional.hvp`, значение и произведение, а нужно только произведение.
def hvp(f, x, v):
    return functional.hvp(f, x, v)

# %% mistake="difference_of_gradients" theme="precision"
# `f` was called at other points than `x`, and gradients were subtracted: a third of the digits is lost, or more.
# Функция `f` вызвана не только в точке `x`, и градиенты вычтены один из другого: теряется треть знаков или больше.
def hvp(f, x, v):
    h = 1e-6
    return (_gradient(f, tracked(x + h * v)) - _gradient(f, tracked(x - h * v))).detach() / (2 * h)

# %% mistake="whole_hessian" theme="cost"
# The whole Hessian was built, with a backward pass for each row, as `functional.hessian` does.
# Построена вся матрица Гессе, по обратному проходу на строку, как в `functional.hessian`.
def hvp(f, x, v):
    return functional.hessian(f, x) @ v

# %% mistake="row_by_row" theme="cost"
# No matrix was built, but there is a backward pass for each of its rows.
# Матрица не построена, но на каждую её строку приходится обратный проход.
def hvp(f, x, v):
    x = tracked(x)
    entries_of_g = _gradient(f, x)
    return torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] @ v for entry in entries_of_g])

# %% mistake="wasted_passes" theme="cost"
# There are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.
# Есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.
def hvp(f, x, v):
    f(x), f(x), f(x)
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]

# %% mistake="whole_hessian_batched" theme="cost"
# The whole Hessian was built in a batched pass, as `torch.func.hessian` does: n vectors at once.
# Вся матрица Гессе построена проходом по батчу, как в `torch.func.hessian`: сразу n векторов.
def hvp(f, x, v):
    return torch.func.hessian(f)(x) @ v

# %% mistake="sums_in_python" theme="cost"
# `g @ v` was summed entry by entry in Python: each entry adds its own operations.
# Произведение `g @ v` вычисляется в Python по одному элементу, и на каждый приходятся свои операции.
def hvp(f, x, v):
    x = tracked(x)
    g = _gradient(f, x)
    slope = torch.stack([g[i] * v[i] for i in range(len(x))]).sum()
    return torch.autograd.grad(slope, x)[0]

# %% mistake="diagonal_alone" theme="derivative"
# Only the diagonal of `H` was multiplied by `v`.
# На `v` умножена только диагональ `H`.
def hvp(f, x, v):
    hessian = functional.hessian(f, x)
    return hessian.diagonal() * v

# %% mistake="multiplies_twice" theme="scaling"
# One number was returned, `vᵀH v`. Only the product `H v` is asked for.
# Возвращено одно число, `vᵀH v`, а нужно только произведение `H v`.
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] @ v

# %% mistake="without_tuples" theme="own"
# `torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.
# Функции `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), x, v)[1]

# %% mistake="returns_gradient_and_product" theme="missing"
# The whole pair of `torch.func.jvp` was returned, gradient and product. Only the product is asked for.
# Возвращена вся пара из `torch.func.jvp`, градиент и произведение, а нужно только произведение.
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x,), (v,))

# %% mistake="gradient_in_its_tuple" theme="missing"
# The gradient was not taken out of its tuple. `torch.autograd.grad` returns a tuple, even for one input.
# Градиент не вынут из кортежа. Функция `torch.autograd.grad` возвращает кортеж, даже если вход один.
def hvp(f, x, v):
    x = tracked(x)
    g = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]

# %% mistake="differentiates_a_vector" theme="axes"
# Several numbers are differentiated at once, such as `g` or `g * v`. The scalar `g @ v` has to be differentiated.
# Дифференцируется сразу несколько чисел, например `g` или `g * v`. Дифференцировать нужно скаляр `g @ v`.
def hvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(_gradient(f, x) * v, x)[0]
