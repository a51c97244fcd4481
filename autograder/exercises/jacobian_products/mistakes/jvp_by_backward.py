# %%
import torch
from torch.autograd import forward_ad, functional

from ..common import tracked
from .common import _by_cotangent, _second_by_x


# %% mistake="other_product" theme="axes"
# The other product was returned, `vᵀJ`: `v` went in as the weight of the outputs.
# Возвращено другое произведение, `vᵀJ`: вектор `v` использован как веса выходов.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x), x, v)[0]

# %% mistake="one_whole_step" theme="derivative"
# The change of `f` over the whole step `v` was returned. The derivative is only its linear part.
# Возвращено приращение `f` на всём шаге `v`. Производная — только его линейная часть.
def jvp_by_backward(f, x, v):
    return f(x + v) - f(x)

# %% mistake="matrix_from_the_left" theme="axes"
# The whole matrix was built and multiplied by `v` from the left. In `J v` the vector stands on the right.
# Построена вся матрица и умножена на `v` слева. В `J v` вектор стоит справа.
def jvp_by_backward(f, x, v):
    return v @ functional.jacobian(f, x)

# %% mistake="gradient_times_v" theme="axes"
# The gradient of the summed outputs was multiplied by `v` entry by entry.
# Градиент суммы выходов поэлементно умножен на `v`.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] * v

# %% mistake="sum_of_the_product" theme="axes"
# The gradient of the summed outputs was multiplied by `v`: one number, the sum of all entries of `J v`.
# Градиент суммы выходов скалярно умножен на `v`: получилось одно число, сумма элементов `J v`.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] @ v

# %% mistake="no_graph_to_go_on" theme="recording"
# A tensor without a graph is differentiated. So it is in the first call of `grad` when `x` does not require grad
#     (a copy is needed that does), and in the second without `create_graph=True` in the first.
# Дифференцируется тензор без графа. Так бывает в первом вызове `grad`, если `x` не требует градиента (нужна копия,
#     которая требует), а во втором — если в первом нет `create_graph=True`.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]

# %% mistake="untracked_cotangent" theme="recording"
# The gradient is taken with respect to a tensor that does not require grad, for example an auxiliary vector `u`.
# Градиент берётся по тензору, который не требует градиента, например по вспомогательному вектору `u`.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    y = f(x)
    u = torch.ones_like(y)
    (g,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]

# %% mistake="by_x_with_zeros" theme="derivative"
# The second call differentiates with respect to `x`: that gives second derivatives of `f`. The first product
#     depends on `u` too, and it is `u` that has to be differentiated by.
# Второй вызов дифференцирует по `x`: получаются вторые производные `f`. Первое произведение зависит и от `u`, и
#     дифференцировать нужно по `u`.
def jvp_by_backward(f, x, v):
    return _second_by_x(f, x, v, 0.0)

# %% mistake="cotangent_like_the_input" theme="axes"
# The auxiliary vector `u` has the shape of the input. It stands on the side of the outputs and needs their shape.
# У вспомогательного вектора `u` форма входа. А он стоит на стороне выходов, поэтому форма нужна как у выхода.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]

# %% mistake="finite_differences" theme="precision"
# `f` was called at other points than `x`: finite differences lose a third of the digits or more.
# Функция `f` вызвана не только в точке `x`: при конечных разностях теряется треть знаков или больше.
def jvp_by_backward(f, x, v):
    h = 1e-6
    return (f(x + h * v) - f(x - h * v)) / (2 * h)

# %% mistake="all_rows_first" theme="cost"
# There is a backward pass for each output: the rows are computed one by one and multiplied by `v`.
# На каждый выход приходится обратный проход: строки вычисляются по одной и умножаются на `v`.
def jvp_by_backward(f, x, v):
    return functional.jacobian(f, x) @ v

# %% mistake="wasted_calls" theme="cost"
# There are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.
# Есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.
def jvp_by_backward(f, x, v):
    f(x)
    return functional.jvp(f, x, v)[1]

# %% mistake="result_in_float32" theme="precision"
# The result has the dtype float32. A tensor made without `dtype`, such as `torch.zeros(m)`, brings that in.
# У результата dtype float32. Так бывает из-за тензора, созданного без `dtype`, например `torch.zeros(m)`.
def jvp_by_backward(f, x, v):
    return _by_cotangent(f, x, v, torch.float32)

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def jvp_by_backward(f, x, v):
    return _by_cotangent(f, x, v, torch.float32).to(x.dtype)

# %% mistake="returns_value_and_jvp" theme="missing"
# The whole pair was returned, value and product. Only the product is asked for.
# Возвращена вся пара, значение и произведение, а нужно только произведение.
def jvp_by_backward(f, x, v):
    return functional.jvp(f, x, v)

# %% mistake="asks_for_forward_mode" theme="own"
# Forward mode was used on a function that has none.
# Прямой режим применён к функции, у которой его нет.
def jvp_by_backward(f, x, v):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent

# %% mistake="asks_torch_func" theme="own"
# `torch.func` was used: it refuses a custom `Function` that is not written for it.
# Использован модуль `torch.func`: он принимает пользовательскую `Function`, только если она написана для него.
def jvp_by_backward(f, x, v):
    return torch.func.jvp(f, (x,), (v,))[1]

# %% mistake="value_alone" theme="missing"
# The value `f(x)` was returned, not the product.
# Возвращено значение `f(x)`, а не произведение.
def jvp_by_backward(f, x, v):
    return f(x)

# %% mistake="all_rows_in_one_pass" theme="cost"
# The whole matrix was built in one batched pass. It is one pass, but of many vectors at once.
# Вся матрица построена за один проход по батчу. Проход один, но в нём сразу много векторов.
def jvp_by_backward(f, x, v):
    x = tracked(x)
    y = f(x)
    (matrix,) = torch.autograd.grad(y, x, torch.eye(len(y), dtype=y.dtype), is_grads_batched=True)
    return matrix @ v
