# %%
import torch
from torch.autograd import forward_ad, functional

from ..common import tracked
from .common import _by_cotangent, _second_by_x


# %% mistake="other_product" theme="axes"
# The other product was returned, `vᵀJ`: `v` went in as the weight of the outputs.
# Возвращено другое произведение, `vᵀJ`: вектор `v` использован как веса выходов.
def jvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x), x, v)[0]

# %% mistake="tangent_read_too_late" theme="order"
# None came back. So it is when nothing is returned, when a tangent is read after its level was closed, or when the
#     result is no dual tensor.
# Возвращён None. Так бывает, когда ничего не возвращено, когда касательный вектор прочитан после закрытия уровня
#     или когда результат — не дуальный тензор.
def jvp(f, x, v):
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
    return forward_ad.unpack_dual(y).tangent

# %% mistake="leaves_the_level_open" theme="state"
# A level of forward mode was entered and never left: the next call finds it still open.
# Уровень прямого режима не закрыт: при следующем вызове он всё ещё открыт.
def jvp(f, x, v):
    forward_ad.enter_dual_level()
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent

# %% mistake="returns_the_value" theme="missing"
# The value `f(x)` was returned. In a dual tensor the derivative is `unpack_dual(...).tangent`; in a pair it is the
#     second entry.
# Возвращено значение `f(x)`. В дуальном тензоре производная — это `unpack_dual(...).tangent`, в паре — второй
#     элемент.
def jvp(f, x, v):
    return f(x)

# %% mistake="returns_the_unpacked" theme="missing"
# The whole result of `unpack_dual` was returned, value and tangent. Only the tangent is asked for.
# Результат `unpack_dual` возвращён целиком, значение и касательный вектор, а нужен только вектор.
def jvp(f, x, v):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v)))

# %% mistake="no_level" theme="own"
# A dual tensor was made outside any level. `make_dual` works inside `with forward_ad.dual_level():`.
# Дуальный тензор создан вне уровня. Функция `make_dual` работает внутри `with forward_ad.dual_level():`.
def jvp(f, x, v):
    return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent

# %% mistake="without_tuples" theme="own"
# `torch.func.jvp` was given bare tensors. It takes a tuple of inputs and a tuple of directions.
# Функции `torch.func.jvp` переданы сами тензоры. Она принимает кортеж входов и кортеж направлений.
def jvp(f, x, v):
    return torch.func.jvp(f, x, v)[1]

# %% mistake="one_whole_step" theme="derivative"
# The change of `f` over the whole step `v` was returned. The derivative is only its linear part.
# Возвращено приращение `f` на всём шаге `v`. Производная — только его линейная часть.
def jvp(f, x, v):
    return f(x + v) - f(x)

# %% mistake="matrix_from_the_left" theme="axes"
# The whole matrix was built and multiplied by `v` from the left. In `J v` the vector stands on the right.
# Построена вся матрица и умножена на `v` слева. В `J v` вектор стоит справа.
def jvp(f, x, v):
    return v @ functional.jacobian(f, x)

# %% mistake="returns_the_pair" theme="missing"
# The whole pair was returned, value and product. Only the product is asked for.
# Возвращена вся пара, значение и произведение, а нужно только произведение.
def jvp(f, x, v):
    return torch.func.jvp(f, (x,), (v,))

# %% mistake="gradient_times_v" theme="axes"
# The gradient of the summed outputs was multiplied by `v` entry by entry.
# Градиент суммы выходов поэлементно умножен на `v`.
def jvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] * v

# %% mistake="sum_of_the_product" theme="axes"
# One number came back, the sum of all entries of `J v`. So it is when the gradient of the summed outputs is
#     multiplied by `v`.
# Возвращено одно число, сумма элементов `J v`. Так бывает, когда градиент суммы выходов скалярно умножен на `v`.
def jvp(f, x, v):
    x = tracked(x)
    return torch.autograd.grad(f(x).sum(), x)[0] @ v

# %% mistake="no_graph_to_go_on" theme="recording"
# A tensor without a graph is differentiated. In the first call of `grad`: `x` does not require grad, so a copy is
#     needed that does. In the second: `create_graph=True` is missing in the first.
# Дифференцируется тензор без графа. Если ошибка в первом вызове `grad`, то `x` не требует градиента и нужна копия,
#     которая требует. Если во втором, то в первом не хватает `create_graph=True`.
def jvp(f, x, v):
    x = tracked(x)
    y = f(x)
    u = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, u)
    return torch.autograd.grad(g, u, v)[0]

# %% mistake="untracked_cotangent" theme="recording"
# The gradient is taken with respect to a tensor that does not require grad, for example an auxiliary vector `u`.
# Градиент берётся по тензору, который не требует градиента, например по вспомогательному вектору `u`.
def jvp(f, x, v):
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
def jvp(f, x, v):
    return _second_by_x(f, x, v, 0.0)

# %% mistake="finite_differences" theme="precision"
# `f` was called at other points than `x`: finite differences lose a third of the digits or more.
# Функция `f` вызвана не только в точке `x`: при конечных разностях теряется треть знаков или больше.
def jvp(f, x, v):
    h = 1e-6
    return (f(x + h * v) - f(x - h * v)) / (2 * h)

# %% mistake="all_rows_first" theme="cost"
# There is a backward pass for each output: the rows are computed one by one and multiplied by `v`.
# На каждый выход приходится обратный проход: строки вычисляются по одной и умножаются на `v`.
def jvp(f, x, v):
    return functional.jacobian(f, x) @ v

# %% mistake="all_columns_first" theme="cost"
# The columns were computed one by one, with a call of `f` for each input, and then mixed.
# Столбцы вычислены по одному, с вызовом `f` на каждый вход, и потом сложены с весами.
def jvp(f, x, v):
    units = torch.eye(len(x), dtype=x.dtype)
    columns = [torch.func.jvp(f, (x,), (unit,))[1] * share for unit, share in zip(units, v)]
    return torch.stack(columns).sum(0)

# %% mistake="wasted_calls" theme="cost"
# There are superfluous calls of `f` or backward passes: not one for each entry, but more than needed.
# Есть лишние вызовы `f` или обратные проходы: не по одному на элемент, но больше, чем нужно.
def jvp(f, x, v):
    f(x)
    return functional.jvp(f, x, v)[1]

# %% mistake="matrix_in_one_pass" theme="cost"
# The whole matrix was built in one batched pass, as `jacrev` and `jacfwd` do. It is one pass, but of many vectors
#     at once.
# Вся матрица построена за один проход, как в `jacrev` и `jacfwd`. Проход один, но в нём сразу много векторов.
def jvp(f, x, v):
    return torch.func.jacrev(f)(x) @ v

# %% mistake="cotangent_like_the_input" theme="axes"
# The auxiliary vector `u` has the shape of the input. It stands on the side of the outputs and needs their shape.
# У вспомогательного вектора `u` форма входа. А он стоит на стороне выходов, поэтому форма нужна как у выхода.
def jvp(f, x, v):
    x = tracked(x)
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, u, create_graph=True)
    return torch.autograd.grad(g, u, v)[0]

# %% mistake="point_and_direction_swapped" theme="derivative"
# `x` and `v` are swapped: the derivative is that at `v`, in the direction `x`.
# Перепутаны `x` и `v`: производная взята в точке `v` по направлению `x`.
def jvp(f, x, v):
    return torch.func.jvp(f, (v,), (x,))[1]

# %% mistake="transposed_matrix" theme="axes"
# The matrix was transposed before it was multiplied by `v`: `Jᵀv` is the other product, `vᵀJ`.
# Перед умножением на `v` матрица транспонирована: `Jᵀv` — это другое произведение, `vᵀJ`.
def jvp(f, x, v):
    matrix = functional.jacobian(f, x)
    return matrix.T @ v

# %% mistake="result_in_float32" theme="precision"
# The result has the dtype float32. A tensor made without `dtype`, such as `torch.zeros(m)`, brings that in.
# У результата dtype float32. Так бывает из-за тензора, созданного без `dtype`, например `torch.zeros(m)`.
def jvp(f, x, v):
    return _by_cotangent(f, x, v, torch.float32)

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def jvp(f, x, v):
    return _by_cotangent(f, x, v, torch.float32).to(x.dtype)
