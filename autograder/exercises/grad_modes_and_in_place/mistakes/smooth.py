# %%
import torch
from torch import Tensor


def _recur(x, a, seen=lambda row: row):
    """Return the recurrence a * previous + (1 - a) * row, with a new tensor for each row.

    A mistake passes `seen`, which changes the previous row before it is used.
    """
    rows = [x[0]]
    for row in x[1:]:
        rows.append(a * seen(rows[-1]) + (1 - a) * row)
    return torch.stack(rows)


def names_the_row(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        previous = y[t - 1]
        y[t] = a * previous + (1 - a) * x[t]
    return y


def _powers(x, a):
    """Return the numbers of the rows of `x` as a column, and the weights of the rows in the first average."""
    steps = torch.arange(len(x), dtype=x.dtype)[:, None]
    return steps, torch.where(steps == 0, torch.ones_like(a), 1 - a)

# %% mistake="names_the_row" theme="in_place"
# The rows are still written into one tensor, perhaps into a copy of `x` or in another spelling. A row is a view:
#     the same memory, the same version counter, and the next write moves it.
# Строки по-прежнему пишутся в один тензор — возможно, в копию `x` или другим способом записи. Строка — это
#     представление: та же память, тот же счётчик версий, и следующее изменение его увеличивает.
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        previous = y[t - 1]
        y[t] = a * previous + (1 - a) * x[t]
    return y

# %% mistake="detaches_the_row" theme="in_place"
# The previous row was detached. What `detach()` returns shares memory and version counter with `y`: the error
#     stays, and without it a part of the gradient would be gone.
# Предыдущая строка отсоединена. У результата `detach()` память и счётчик версий общие с `y`: ошибка остаётся, а без
#     неё пропала бы часть градиента.
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1].detach() + (1 - a) * x[t]
    return y

# %% mistake="makes_a_leaf" theme="in_place"
# A leaf was written into: `x` itself, or a `y` that was given `requires_grad`.
# Изменён лист: сам тензор `x` или тензор `y`, у которого включён `requires_grad`.
def smooth(x, a):
    y = torch.empty_like(x).requires_grad_()
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y

# %% mistake="writes_into_x" theme="in_place"
# The rows were written into the memory of `x`: `detach()` and `.data` copy nothing.
# Строки записаны в память самого `x`: ни `detach()`, ни `.data` ничего не копируют.
def smooth(x, a):
    y = x.detach()
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y

# %% mistake="writes_into_data" theme="recording"
# Rows were written past the graph (`.data` or `no_grad()`). The error is gone, but to the graph those rows are
#     constants.
# Строки изменены в обход графа (через `.data` или внутри `no_grad()`). Ошибки нет, но для графа такие строки —
#     константы.
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y.data[t] = a * y[t - 1] + (1 - a) * x[t]
    return y

# %% mistake="copies_before" theme="in_place"
# `y` was copied before each write. The saved row is then a row of the new copy, and the write goes into that copy.
# Тензор `y` копируется до изменения. Сохранена при этом строка новой копии, и тут же меняется эта самая копия.
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y = y.clone()
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y

# %% mistake="copies_everything" theme="cost"
# All rows written so far were copied at each step. Nothing is overwritten, but the graph keeps a copy of the whole
#     of `y` for every row.
# На каждом шаге копируются все прежние строки. Сохранённое не меняется, но граф хранит по копии всего `y` на каждую
#     строку.
def smooth(x, a):
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y.clone()[t - 1] + (1 - a) * x[t]
    return y

# %% mistake="cuts_the_chain" theme="recording"
# The previous row was cut off from the graph, by `detach()` or `.data`. The error is gone, and so is the part of
#     the gradient that comes through earlier rows.
# Предыдущая строка отсоединена от графа через `detach()` или `.data`. Ошибки больше нет, но нет и той части
#     градиента, которая идёт через предыдущие строки.
def smooth(x, a):
    return _recur(x, a, Tensor.detach)

# %% mistake="writes_unseen" theme="recording"
# What comes back is a constant: the rows were written unseen by autograd, under `no_grad()` or into `y.data`, or
#     the result was detached.
# Возвращается константа: строки получены в обход графа, внутри `no_grad()` или через `y.data`, либо результат
#     отсоединён.
def smooth(x, a):
    with torch.no_grad():
        return _recur(x, a)

# %% mistake="forces_the_flag" theme="recording"
# The averages have no history, and `y` was given the flag at the end. That makes it a leaf: `x` and `a` get
#     nothing.
# У средних нет истории, а флаг у `y` включён в конце. Поэтому это лист, и тензоры `x` и `a` не получают ничего.
def smooth(x, a):
    y = _recur(x.detach(), a.detach())
    y.requires_grad_()
    return y

# %% mistake="makes_a_number" theme="recording"
# `a` became a number on the way, as by `a.item()`. The error is gone because no derivative needs the previous row
#     any more; but `a` does not learn.
# Тензор `a` превращён в число, например через `a.item()`. Ошибка исчезла, потому что предыдущая строка больше не
#     нужна ни для какой производной; но и `a` не обучается.
def smooth(x, a):
    return _recur(x, a.item())

# %% mistake="allows_the_edit_inside" theme="in_place"
# The graph is good only inside `allow_mutation_on_saved_tensors()`, and `y` is returned to the outside. There
#     backward finds the saved rows gone.
# Граф годится только внутри `allow_mutation_on_saved_tensors()`, а тензор `y` возвращён наружу. Там обратный проход
#     сохранённых строк уже не найдёт.
def smooth(x, a):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = names_the_row(x, a)
    return y

# %% mistake="runs_backward" theme="accumulation"
# A backward pass was run inside `smooth`. It filled `.grad` of `x` and `a`; that is for the caller to ask for.
# Внутри `smooth` выполнен обратный проход, и поле `.grad` у `x` и `a` заполнено. Решать, нужен ли он, должен тот,
#     кто вызвал функцию.
def smooth(x, a):
    y = _recur(x, a)
    y.sum().backward(retain_graph=True)
    return y

# %% mistake="makes_single_precision" theme="precision"
# The averages are float32 whatever `x` is: so is a new tensor made from a shape or from numbers. `empty_like(x)`
#     and `x.new_zeros(...)` take the dtype of `x`.
# Средние всегда float32, каким бы ни был `x`: такой dtype у тензора, созданного по форме или из чисел. Функция
#     `empty_like(x)` и метод `x.new_zeros(...)` берут dtype у `x`.
def smooth(x, a):
    return _recur(x, a).float()

# %% mistake="makes_double_precision" theme="precision"
# The averages are float64 whatever `x` is. NumPy and `.double()` make such numbers.
# Средние всегда float64, каким бы ни был `x`. Такие числа дают NumPy и `.double()`.
def smooth(x, a):
    return _recur(x, a).double()

# %% mistake="joins_end_to_end" theme="axes"
# The rows were joined end to end: `torch.cat` makes no new dimension.
# Строки соединены в одну длинную: `torch.cat` не создаёт нового измерения.
def smooth(x, a):
    return _recur(x, a).flatten()

# %% mistake="exchanges_the_weights" theme="own"
# The two weights were exchanged: `a` belongs to the previous average.
# Веса перепутаны: множитель `a` относится к предыдущему среднему.
def smooth(x, a):
    return _recur(x, 1 - a)

# %% mistake="begins_at_zero" theme="own"
# The average began at zero. The first row of `y` is that of `x`.
# Среднее начинается с нуля, а первая строка `y` должна совпадать с первой строкой `x`.
def smooth(x, a):
    return _recur(torch.cat([torch.zeros_like(x[:1]), x]), a)[1:]

# %% mistake="mixes_the_data" theme="own"
# Each row was mixed with the row of `x` before it, not with the average before it.
# Каждая строка смешана с предыдущей строкой `x`, а не с предыдущим средним.
def smooth(x, a):
    return torch.cat([x[:1], a * x[:-1] + (1 - a) * x[1:]])

# %% mistake="returns_the_last_row" theme="missing"
# Only the last average came back.
# Возвращено только последнее среднее.
def smooth(x, a):
    return _recur(x, a)[-1]

# %% mistake="returns_rows" theme="missing"
# The list of the rows came back. One tensor with the shape of `x` was asked for.
# Возвращён список строк, а нужен один тензор той же формы, что и `x`.
def smooth(x, a):
    return list(_recur(x, a))

# %% mistake="smooths_in_vain" theme="missing"
# Nothing was returned.
# Ничего не возвращено.
def smooth(x, a):
    _recur(x, a)

# %% mistake="weighs_by_a_matrix" theme="cost"
# Each average was computed from all rows at once, with a matrix of weights. The graph keeps that matrix: with $T$
#     rows it has $T^2$ entries.
# Каждое среднее вычислено сразу по всем строкам, через матрицу весов. Эту матрицу граф хранит, а при $T$ строках в
#     ней $T^2$ элементов.
def smooth(x, a):
    steps, first = _powers(x, a)
    distance = steps - steps.T
    return torch.tril(a ** distance.clamp(min=0)) @ (first * x)

# %% mistake="divides_by_powers" theme="precision"
# The rows were divided by powers of `a`. With `a` equal to 0 that is 0/0, and with many rows the powers vanish.
# Строки разделены на степени `a`. При `a`, равном 0, это 0/0, а при большом числе строк степени обращаются в нуль.
def smooth(x, a):
    steps, first = _powers(x, a)
    return a**steps * (first * x / a**steps).cumsum(0)

# %% mistake="makes_a_number_of_the_complement" theme="recording"
# `a` was replaced by a number in one of its two places, as by `1 - a.item()`. A part of its gradient is missing.
# В одном из двух мест `a` заменён числом, например как `1 - a.item()`. Части его градиента не хватает.
def smooth(x, a):
    rows = [x[0]]
    for row in x[1:]:
        rows.append(a * rows[-1] + (1 - a.item()) * row)
    return torch.stack(rows)

# %% mistake="expects_two_rows" theme="missing"
# You expected a second row. With $T = 1$ there is none, and `y` is the one row of `x`.
# Вы ожидали, что есть вторая строка. При $T = 1$ её нет, и `y` состоит из единственной строки `x`.
def smooth(x, a):
    rows = [x[0], a * x[0] + (1 - a) * x[1]]
    for row in x[2:]:
        rows.append(a * rows[-1] + (1 - a) * row)
    return torch.stack(rows)

# %% mistake="goes_along_the_columns" theme="axes"
# The averages run along the columns. Each row is averaged with the rows before it.
# Средние идут вдоль столбцов. А усреднять нужно каждую строку с предыдущими строками.
def smooth(x, a):
    return _recur(x.T, a).T

# %% mistake="takes_the_plain_mean" theme="scaling"
# Each row is the plain mean of the rows so far. The average asked for weighs them by powers of `a`.
# Каждая строка — обычное среднее всех строк до неё включительно. А нужно среднее с весами, в которые входят степени
#     `a`.
def smooth(x, a):
    return x.cumsum(0) / torch.arange(1, len(x) + 1, dtype=x.dtype)[:, None]

# %% mistake="detaches_the_new_rows" theme="recording"
# The new rows were detached: of `x`, only the first row gets a gradient.
# Новые строки отсоединены от графа: градиент получает только первая строка тензора `x`.
def smooth(x, a):
    rows = [x[0]]
    for row in x[1:]:
        rows.append(a * rows[-1] + (1 - a) * row.detach())
    return torch.stack(rows)

# %% mistake="overwrites_x_unseen" theme="in_place"
# The averages were written into `x` itself, past the graph. The caller's data is gone, and `a` gets no gradient.
# Средние записаны в сам тензор `x` в обход графа. Данные испорчены, а `a` не получает градиента.
def smooth(x, a):
    with torch.no_grad():
        for t in range(1, len(x)):
            x[t] = a * x[t - 1] + (1 - a) * x[t]
    return x * 1

# %% mistake="weights_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `x` and `a` lie on a GPU, and torch refuses to mix the two.
#     `x.new_zeros(...)` and `device=x.device` follow `x`.
# Какой-то тензор создан на CPU, хотя `x` и `a` лежат на GPU, и torch отказывается их смешивать.
#     Устройство тензора `x` дают `x.new_zeros(...)` и `device=x.device`.
def smooth(x, a):
    previous, rows = torch.zeros(x.shape[1], dtype=x.dtype), [x[0]]
    for row in x[1:]:
        previous = previous * 0 + rows[-1]
        rows.append(a * previous + (1 - a) * row)
    return torch.stack(rows)
