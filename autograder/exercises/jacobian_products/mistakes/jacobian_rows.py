# %%
import torch
from torch.autograd import functional


def _rows_in_grad(y, x, before, between):
    """Return copies of `x.grad` after a backward pass from each entry of `y`.

    `before` is called once at the start, `between` after each pass.
    """
    rows = []
    before()
    for i in range(len(y)):
        y[i].backward(retain_graph=True)
        assert x.grad is not None
        rows.append(x.grad.clone())
        between()
    return rows


def _do_nothing():
    pass


def _clearing(x):
    """Return a function that sets `x.grad` to None."""
    return lambda: setattr(x, "grad", None)


def list_of_rows(y, x):
    return [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]


def leaves_grad_empty(y, x):
    x.grad = None
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))

# %% mistake="running_sums" theme="accumulation"
# `x.grad` was never cleared: each row holds all the rows before it, and what was there at the start.
# Градиент `x.grad` ни разу не обнулён: в каждую строку вошли все предыдущие и то, что лежало там вначале.
def jacobian_rows(y, x):
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _do_nothing))

# %% mistake="cleared_once" theme="accumulation"
# `x.grad` was cleared once, before the loop: each row holds all the rows before it.
# Градиент `x.grad` обнулён один раз, до цикла: в каждую строку вошли все предыдущие.
def jacobian_rows(y, x):
    return torch.stack(_rows_in_grad(y, x, _clearing(x), _do_nothing))

# %% mistake="cleared_after_each" theme="accumulation"
# The first row still holds what was in `x.grad` before.
# В первую строку вошло то, что лежало в `x.grad` раньше.
def jacobian_rows(y, x):
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))

# %% mistake="all_rows_the_last" theme="in_place"
# Every row is the same tensor, `x.grad`, zeroed in place: all of them show the last row.
# Все строки — один и тот же тензор, `x.grad`, обнуляемый на месте: в каждой видна последняя.
def jacobian_rows(y, x):
    rows = []
    x.grad = torch.zeros_like(x)
    for i in range(len(y)):
        x.grad.zero_()
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)

# %% mistake="transposed" theme="axes"
# The matrix is transposed: rows or columns were stacked along the other dimension.
# Матрица транспонирована: строки или столбцы собраны вдоль другого измерения.
def jacobian_rows(y, x):
    rows = [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]
    return torch.stack(rows, dim=1)

# %% mistake="sum_of_rows" theme="axes"
# The outputs were summed: the gradient of the sum is the sum of all rows.
# Выходы сложены: градиент суммы равен сумме всех строк.
def jacobian_rows(y, x):
    return torch.autograd.grad(y.sum(), x)[0]

# %% mistake="graph_freed" theme="graph_life"
# The first row's call frees what the second row needs of the graph.
# После вызова для первой строки сохранённое в графе освобождено, а оно нужно для второй.
def jacobian_rows(y, x):
    return torch.stack([torch.autograd.grad(output, x)[0] for output in y])

# %% mistake="identity_of_the_input" theme="axes"
# The rows of an identity matrix of the input's size were used as `v`. There is one row for each output.
# В качестве `v` взяты строки единичной матрицы размера входа. Нужна одна строка на каждый выход.
def jacobian_rows(y, x):
    rows = torch.eye(len(x), dtype=x.dtype)
    return torch.stack([torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in rows])

# %% mistake="all_rows_the_sum" theme="in_place"
# Every row is the same tensor, `x.grad`, and the results of all passes were added up in it.
# Все строки — один и тот же тензор, `x.grad`, и в нём сложились результаты всех проходов.
def jacobian_rows(y, x):
    for output in y:
        output.backward(retain_graph=True)
    assert x.grad is not None
    return torch.stack([x.grad for _ in y])

# %% mistake="sum_in_every_row" theme="axes"
# Each row holds the sum of all rows: `y.sum()` was differentiated, or every row is `x.grad` itself, in which all
#     passes were added up.
# В каждой строке стоит сумма всех строк: продифференцирована `y.sum()` или все строки — сам `x.grad`, в котором
#     сложились результаты всех проходов.
def jacobian_rows(y, x):
    return torch.autograd.grad(y.sum(), x)[0].expand(len(y), -1)

# %% mistake="list_of_rows" theme="missing"
# A list of rows was returned. The rows still have to be stacked into one tensor.
# Возвращён список строк. Их ещё нужно собрать в один тензор.
def jacobian_rows(y, x):
    return [torch.autograd.grad(output, x, retain_graph=True)[0] for output in y]

# %% mistake="joined_rows" theme="axes"
# The rows were joined end to end into one long vector. `stack` gives them a dimension of their own.
# Строки соединены в один длинный вектор. Функция `stack` собирает их вдоль нового измерения.
def jacobian_rows(y, x):
    return torch.cat(list_of_rows(y, x))

# %% mistake="tuples_stacked" theme="missing"
# The tuples of `torch.autograd.grad` were stacked, not the tensors in them.
# В тензор собираются кортежи из `torch.autograd.grad`, а не тензоры в них.
def jacobian_rows(y, x):
    rows = [torch.autograd.grad(output, x, retain_graph=True) for output in y]
    return torch.stack(rows)

# %% mistake="in_single_rows" theme="precision"
# The result is float32, as a tensor from `torch.zeros(m, n)` is: half of the digits are lost.
# Результат имеет тип float32, как тензор, который создаёт `torch.zeros(m, n)`: половина знаков потеряна.
def jacobian_rows(y, x):
    return torch.stack(list_of_rows(y, x)).float()

# %% mistake="leaves_grad_empty" theme="accumulation"
# The matrix is right, but the rows were computed through `x.grad`, and it was left empty.
# Матрица верна, но строки вычислены через `x.grad`, и это поле осталось пустым.
def jacobian_rows(y, x):
    x.grad = None
    return torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))

# %% mistake="leaves_the_last_row" theme="accumulation"
# The matrix is right, but the rows were computed through `x.grad`, and the last one stayed there.
# Матрица верна, но строки вычислены через `x.grad`, и последняя там осталась.
def jacobian_rows(y, x):
    rows = []
    for output in y:
        x.grad = None
        output.backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)

# %% mistake="leaves_zeros" theme="accumulation"
# The matrix is right, but `x.grad` was left full of zeros.
# Матрица верна, но в `x.grad` остались нули.
def jacobian_rows(y, x):
    x.grad = None
    rows = torch.stack(_rows_in_grad(y, x, _do_nothing, _clearing(x)))
    x.grad = torch.zeros_like(x)
    return rows

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def jacobian_rows(y, x):
    return torch.stack(list_of_rows(y, x)).float().to(x.dtype)

# %% mistake="function_of_a_new_input" theme="recording"
# All entries are zero. So they are when `functional.jacobian` calls its function with a new `x`, and `y` was
#     computed from the old one.
# Все элементы нулевые. Так бывает, когда `functional.jacobian` передаёт функции новый `x`, а `y` вычислен по прежнему.
def jacobian_rows(y, x):
    return functional.jacobian(lambda _: y, x)

# %% mistake="loops_over_the_inputs" theme="axes"
# The loop runs over the inputs. There is one row for each output.
# Цикл идёт по входам. Нужна одна строка на каждый выход.
def jacobian_rows(y, x):
    rows = torch.zeros(len(y), len(x), dtype=x.dtype)
    for i in range(len(x)):
        rows[i] = torch.autograd.grad(y[i], x, retain_graph=True)[0]
    return rows

# %% mistake="old_gradient_by_name" theme="in_place"
# The matrix is right, but the old gradient was kept as a second name of `x.grad`, not as a copy: the backward
#     passes changed it too.
# Матрица верна, но прежний градиент сохранён как второе имя `x.grad`, без копии: обратные проходы изменили и его.
def jacobian_rows(y, x):
    old, before = x.grad, torch.zeros_like(x) if x.grad is None else x.grad.clone()
    sums = torch.stack([before, *_rows_in_grad(y, x, _do_nothing, _do_nothing)])
    x.grad = old
    return sums[1:] - sums[:-1]

# %% mistake="zeros_for_none" theme="accumulation"
# The matrix is right, but zeros were put into `x.grad` where `None` had been.
# Матрица верна, но в `x.grad` записаны нули, хотя раньше там был `None`.
def jacobian_rows(y, x):
    old = torch.zeros_like(x) if x.grad is None else x.grad.clone()
    rows = leaves_grad_empty(y, x)
    x.grad = old
    return rows
