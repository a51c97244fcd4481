# %%
import torch
from torch.autograd import functional

from ..common import tracked
from .common import columns_by_differences


def moves_all_at_once(f, x):
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5

# %% mistake="columns_as_rows" theme="axes"
# The columns were stacked as rows, so the matrix is transposed.
# Столбцы записаны строками, поэтому матрица транспонирована.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5).T

# %% mistake="divides_by_one_step" theme="scaling"
# Everything is twice as large, as when the difference over two steps is divided by one step.
# Всё вдвое больше нужного: так бывает, когда разность значений, отстоящих на два шага, разделена на один шаг.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5, over=1e-5)

# %% mistake="divides_by_two_steps" theme="scaling"
# A one-sided difference was divided by two steps: everything is half as large.
# Односторонняя разность разделена на два шага: всё вдвое меньше нужного.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-7, back=False, over=2e-7)

# %% mistake="moves_all_at_once" theme="axes"
# All entries of `x` were moved at once: that gives one product with a vector of ones.
# Все элементы `x` сдвинуты сразу: получилось одно произведение с вектором из единиц.
def numerical_jacobian(f, x):
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5

# %% mistake="moves_all_each_time" theme="axes"
# All entries of `x` were moved at once for every column: all columns are the same, the sum of all.
# Для каждого столбца сдвинуты сразу все элементы `x`: столбцы одинаковы, и каждый равен сумме всех.
def numerical_jacobian(f, x):
    return torch.stack([moves_all_at_once(f, x) for _ in x], dim=1)

# %% mistake="step_not_reset" theme="state"
# The step in one entry was not taken back before the next one was moved: each column holds the columns before it.
# Шаг в одном элементе не отменён до того, как сдвинут следующий: в каждый столбец вошли все предыдущие.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5).cumsum(1)

# %% mistake="times_1e_4" theme="scaling"
# The difference was divided by 2 and multiplied by `h`: `/ 2 * h` is not `/ (2 * h)`.
# Разность разделена на 2 и умножена на `h`: `/ 2 * h` — это не `/ (2 * h)`.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-4) * 1e-8

# %% mistake="asks_autograd" theme="recording"
# Autograd was used. The black box computes without a graph, so there is nothing to differentiate.
# Использован autograd. Но чёрный ящик вычисляет результат без графа, и дифференцировать там нечего.
def numerical_jacobian(f, x):
    x = tracked(x)
    return torch.stack([torch.autograd.grad(y, x, retain_graph=True)[0] for y in f(x)])

# %% mistake="drifts" theme="state"
# The step in one entry was not taken back before the next one moved: `f` was called where two entries or more had
#     moved.
# Шаг в одном элементе не отменён до того, как сдвинут следующий: функция `f` вызвана там, где сдвинуты два элемента
#     или больше.
def numerical_jacobian(f, x):
    p, columns = x.clone(), []
    for j in range(len(x)):
        p[j] += 1e-5
        after = f(p)
        p[j] -= 2e-5
        columns.append((after - f(p)) / 2e-5)
    return torch.stack(columns, dim=1)

# %% mistake="one_sided" theme="precision"
# The differences go to one side only. Their error shrinks like `h`, and no step makes it small enough.
# Разности односторонние. Их погрешность убывает как `h`, и никакой шаг не сделает её достаточно малой.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-8, back=False)

# %% mistake="too_short" theme="precision"
# The step is too short: the two values share most of their digits, and rounding is what is left.
# Шаг слишком мал: у двух значений совпадают почти все знаки, и в разности остаётся погрешность округления.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-9)

# %% mistake="too_long" theme="precision"
# The step is too long: the error of a central difference grows like `h²`.
# Шаг слишком велик: погрешность центральной разности растёт как `h²`.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-3)

# %% mistake="another_step" theme="precision"
# The step went through a float32 tensor: `x` was moved by a little more or less than the difference is divided by.
# Шаг прошёл через тензор float32: `x` сдвинут не совсем на то число, на которое делится разность.
def numerical_jacobian(f, x):
    columns = [(f(x + step) - f(x - step)) / 2e-5 for step in 1e-5 * torch.eye(len(x))]
    return torch.stack(columns, dim=1)

# %% mistake="returns_float32" theme="precision"
# The result is in float32, which has too few digits for differences: float64 was asked for.
# Результат в float32, где для разностей слишком мало знаков: нужен float64.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x.float(), 1e-2)

# %% mistake="asks_functional" theme="recording"
# All entries are zero. So they are when `functional.jacobian` or `torch.func` is used and there is no graph, or
#     when both values of `f` are taken at one point (`a = x` is not a copy).
# Все элементы нулевые. Так бывает, когда матрица получена от `functional.jacobian` или `torch.func`, а графа нет,
#     или когда оба значения `f` взяты в одной точке (`a = x` — не копия).
def numerical_jacobian(f, x):
    return functional.jacobian(f, x)

# %% mistake="in_float32" theme="precision"
# The differences were computed in float32, which has seven digits; after the subtraction three or four are left.
# Разности вычислены в float32, где семь знаков; после вычитания остаются три-четыре.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x.float(), 1e-2).double()

# %% mistake="halves_the_points" theme="scaling"
# The points are half a step away, and the change was divided by two whole steps: everything is half as large.
# Точки отстоят на полшага, а приращение разделено на два полных шага: всё вдвое меньше.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 5e-6, over=2e-5)

# %% mistake="stored_in_float32" theme="precision"
# The result was stored in float32, for example in a `torch.zeros(m, n)`: that leaves seven digits.
# Результат побывал в тензоре float32, например в `torch.zeros(m, n)`: там остаётся семь знаков.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5).float().double()

# %% mistake="square_matrix" theme="axes"
# The matrix was made with as many rows as columns. It has one row for each output.
# В созданной матрице строк столько же, сколько столбцов. Нужна одна строка на каждый выход.
def numerical_jacobian(f, x):
    matrix = torch.zeros(len(x), len(x), dtype=x.dtype)
    for j, step in enumerate(1e-5 * torch.eye(len(x), dtype=x.dtype)):
        matrix[:, j] = (f(x + step) - f(x - step)) / 2e-5
    return matrix

# %% mistake="list_of_columns" theme="missing"
# A list of columns was returned. They still have to be stacked into one tensor.
# Возвращён список столбцов. Их ещё нужно собрать в один тензор.
def numerical_jacobian(f, x):
    return list(columns_by_differences(f, x, 1e-5).unbind(1))

# %% mistake="sum_of_the_outputs" theme="axes"
# The outputs were summed: that gives the sum of all rows, one number for each input.
# Выходы сложены: получилась сумма всех строк, по одному числу на вход.
def numerical_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5).sum(0)

# %% mistake="identity_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `x` lies on a GPU, and torch refuses to mix the two. `torch.eye(n,
#     device=x.device)` and `torch.zeros_like(x)` follow `x`.
# Какой-то тензор создан на CPU, хотя `x` лежит на GPU, и torch отказывается их смешивать. На устройстве
#     тензора `x` лежат результаты `torch.eye(n, device=x.device)` и `torch.zeros_like(x)`.
def numerical_jacobian(f, x):
    steps = 5e-6 * torch.eye(len(x), dtype=x.dtype)
    return torch.stack([(f(x + step) - f(x - step)) / 1e-5 for step in steps], dim=1)

# %% mistake="matrix_on_the_cpu" theme="device"
# The matrix that came back lies on the CPU, although `x` lies on a GPU.
# Возвращённая матрица лежит на CPU, хотя `x` лежит на GPU.
def numerical_jacobian(f, x):
    columns = columns_by_differences(f, x, 5e-6)
    found = torch.zeros(columns.shape, dtype=x.dtype)
    for j in range(len(x)):
        found[:, j] = columns[:, j]
    return found
