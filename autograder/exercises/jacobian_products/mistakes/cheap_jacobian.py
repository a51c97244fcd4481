# %%
import torch
from torch.autograd import functional

from ..common import tracked
from .common import columns_by_differences


def always_rows(f, x):
    return functional.jacobian(f, x)


def always_columns(f, x):
    units = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (unit,))[1] for unit in units], dim=1)


def _rows_or_columns(f, x):
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else torch.func.jacfwd(f)(x)

# %% mistake="always_rows" theme="cost"
# A tall matrix was computed row by row too, with a backward pass for each output. It has fewer columns than rows.
# Высокая матрица тоже вычисляется по строкам, с обратным проходом на каждый выход. Столбцов у неё меньше, чем
#     строк.
def cheap_jacobian(f, x):
    return functional.jacobian(f, x)

# %% mistake="always_jacrev" theme="cost"
# For a tall matrix too, all rows are computed at once, as `jacrev` does: a batch of m vectors.
# И у высокой матрицы вычисляются сразу все строки, как в `jacrev`: это батч из m векторов.
def cheap_jacobian(f, x):
    return torch.func.jacrev(f)(x)

# %% mistake="always_jacfwd" theme="cost"
# For a wide matrix too, all columns are computed at once, as `jacfwd` does: n tangents at once.
# И у широкой матрицы вычисляются сразу все столбцы, как в `jacfwd`: это батч из n касательных векторов.
def cheap_jacobian(f, x):
    return torch.func.jacfwd(f)(x)

# %% mistake="always_columns" theme="cost"
# A wide matrix was computed column by column too, with a call of `f` for each input. It has fewer rows than
#     columns.
# Широкая матрица тоже вычисляется по столбцам, с вызовом `f` на каждый вход. Строк у неё меньше, чем столбцов.
def cheap_jacobian(f, x):
    units = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.func.jvp(f, (x,), (unit,))[1] for unit in units], dim=1)

# %% mistake="the_other_way_round" theme="cost"
# The choice is the wrong way round: columns where rows are few, rows where columns are few.
# Выбрано наоборот: столбцы там, где мало строк, и строки там, где мало столбцов.
def cheap_jacobian(f, x):
    return torch.func.jacrev(f)(x) if len(f(x)) > len(x) else torch.func.jacfwd(f)(x)

# %% mistake="loops_the_wrong_way" theme="cost"
# The choice is the wrong way round: a pass for each column where rows are few, for each row where columns are few.
# Выбрано наоборот: проход на каждый столбец там, где мало строк, и на каждую строку там, где мало столбцов.
def cheap_jacobian(f, x):
    return always_rows(f, x) if len(f(x)) > len(x) else always_columns(f, x)

# %% mistake="columns_by_two_passes" theme="cost"
# Columns are computed where they are few, but each takes two backward passes: `functional.jvp` does not use forward
#     mode.
# Столбцы вычисляются там, где их мало, но на каждый уходит два обратных прохода: `functional.jvp` не использует
#     прямой режим.
def cheap_jacobian(f, x):
    if len(f(x)) < len(x):
        return functional.jacobian(f, x)
    return torch.stack([functional.jvp(f, x, unit)[1] for unit in torch.eye(len(x), dtype=x.dtype)], dim=1)

# %% mistake="by_differences" theme="precision"
# `f` was called at other points than `x`: finite differences lose a third of the digits or more.
# Функция `f` вызвана не только в точке `x`: при конечных разностях теряется треть знаков или больше.
def cheap_jacobian(f, x):
    return columns_by_differences(f, x, 1e-5)

# %% mistake="columns_stacked_as_rows" theme="axes"
# A tall matrix comes back transposed: its columns were stacked as rows.
# Высокая матрица возвращается транспонированной: её столбцы записаны строками.
def cheap_jacobian(f, x):
    return torch.func.jacrev(f)(x) if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T

# %% mistake="tall_for_wide" theme="axes"
# The transposed matrix came back.
# Возвращена транспонированная матрица.
def cheap_jacobian(f, x):
    return torch.func.jacrev(f)(x).T if len(f(x)) < len(x) else torch.func.jacfwd(f)(x).T

# %% mistake="calls_for_each_row" theme="cost"
# `f` is called again for each row. One call is enough: its graph serves all rows.
# Функция `f` вызывается заново для каждой строки. Достаточно одного вызова: его граф годится для всех строк.
def cheap_jacobian(f, x):
    if len(f(x)) >= len(x):
        return _rows_or_columns(f, x)
    x = tracked(x)
    return torch.stack([torch.autograd.grad(f(x)[i], x)[0] for i in range(len(f(x)))])

# %% mistake="result_in_float32" theme="precision"
# The result has the dtype float32, as a tensor from `torch.zeros(m, n)` has it: half of its digits are lost.
# У результата dtype float32, как у тензора из `torch.zeros(m, n)`: половина знаков потеряна.
def cheap_jacobian(f, x):
    return _rows_or_columns(f, x).float()

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def cheap_jacobian(f, x):
    return _rows_or_columns(f, x).float().to(x.dtype)
