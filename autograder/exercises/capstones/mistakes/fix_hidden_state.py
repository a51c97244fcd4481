# %%
import torch
from torch import Tensor
from torch.nn.functional import mse_loss


def _each(change, state):
    return tuple(map(change, state)) if isinstance(state, tuple) else change(state)


def _run(
    cell,
    optimizer,
    x,
    y,
    state,
    k,
    *,
    between,
    inside=lambda state: state,
    retain=False,
    clears="before",
    steps="each",
    alone=False,
    factor=lambda steps, entries: 1,
):
    """Train in windows; the arguments after `k` choose the faults.

    `between` changes the state after a window, `inside` before each step of it. `clears` says when `.grad` is cleared;
    "too late" is after the backward pass. `steps` says when the optimizer makes a step. If `alone`, only the loss of a
    window's last step counts. `factor` multiplies the loss of a window; it gets the numbers of its steps and of the
    entries in a step.
    """
    for start in range(0, len(x), k):
        loss = 0.0
        for x_t, y_t in zip(x[start : start + k], y[start : start + k]):
            prediction, state = cell(x_t, inside(state))
            loss = mse_loss(prediction, y_t) + (0.0 if alone else loss)
        if clears == "before":
            optimizer.zero_grad()
        (factor(len(x[start : start + k]), y[0].numel()) * loss).backward(retain_graph=retain)
        if clears == "too late":
            optimizer.zero_grad()
        if steps == "each":
            optimizer.step()
        elif steps == "by hand":
            with torch.no_grad():
                for group in optimizer.param_groups:
                    for p in group["params"]:
                        p -= group["lr"] * p.grad
        if clears == "afterwards":
            optimizer.zero_grad()
        state = between(state)
    if steps == "once":
        optimizer.step()
    return state


def _cut(state):
    return _each(Tensor.detach, state)

# %% mistake="only_frees" theme="graph_life"
# `retain_graph=True` is gone, and the first error is back: the state still carries the freed graph of its window.
# Аргумента `retain_graph=True` больше нет, и вернулась первая ошибка: состояние по-прежнему тянет за собой
#     граф своего окна, а сохранённое в нём уже освобождено.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=lambda state: state)

# %% mistake="still_retains" theme="graph_life"
# The graph is still kept and walked again, after a step has overwritten the weights that it has saved.
# Граф по-прежнему сохраняется, и проход по нему идёт снова, уже после шага, который перезаписал сохранённые в нём веса.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=lambda state: _each(Tensor.clone, state), retain=True)

# %% mistake="detaches_the_tuple" theme="recording"
# `detach()` was called on a tuple. The state of an LSTM is a pair of tensors, and each has to be cut.
# Метод `detach()` вызван у кортежа. Состояние LSTM — пара тензоров, и отсоединить нужно каждый.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=lambda state: state.detach())

# %% mistake="cuts_the_first" theme="recording"
# Only the first tensor of the pair is cut. The second carries the graph on.
# Отсоединён только первый тензор пары. Второй по-прежнему тянет граф за собой.
def fix_hidden_state(cell, o, x, y, state, k):
    def between(state):
        return (state[0].detach(), state[1]) if isinstance(state, tuple) else state.detach()

    return _run(cell, o, x, y, state, k, between=between, retain=True)

# %% mistake="cuts_every_step" theme="recording"
# The state is cut at every step. Between windows is enough; inside one the gradient goes back in time.
# Состояние отсоединяется на каждом шаге. Делайте это только между окнами: внутри окна градиент должен идти назад по
#     времени.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, inside=_cut)

# %% mistake="begins_with_zeros" theme="state"
# Every window begins with zeros. The values of the state have to go on.
# Каждое окно начинается с нулей. Значения состояния должны переходить дальше.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=lambda state: _each(torch.zeros_like, state))

# %% mistake="begins_with_the_first" theme="state"
# Every window begins with the state that was passed at the start.
# Каждое окно начинается с того состояния, которое было передано вначале.
def fix_hidden_state(cell, o, x, y, state, k):
    first = state
    for start in range(0, len(x), k):
        state = _run(cell, o, x[start : start + k], y[start : start + k], first, k, between=_cut)
    return state

# %% mistake="one_window" theme="order"
# There is one window: a single backward pass and a single step for the whole sequence.
# Окно одно: один обратный проход и один шаг на всю последовательность.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, len(x), between=_cut)

# %% mistake="never_clears" theme="accumulation"
# The gradients are no longer cleared: a step uses those of the windows before it as well.
# Градиенты больше не обнуляются: в шаг входят и градиенты предыдущих окон.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, clears="never")

# %% mistake="averages" theme="scaling"
# The losses of a window are averaged. Their sum is asked for.
# Значения функции потерь в окне усреднены, а нужна сумма.
def fix_hidden_state(cell, o, x, y, state, k):
    for start in range(0, len(x), k):
        window = list(zip(x[start : start + k], y[start : start + k]))
        loss = 0.0
        for x_t, y_t in window:
            prediction, state = cell(x_t, state)
            loss = loss + mse_loss(prediction, y_t) / len(window)
        o.zero_grad()
        loss.backward()
        o.step()
        state = _cut(state)
    return state

# %% mistake="returns_a_graph" theme="recording"
# The weights are right, but the returned state still has a graph.
# Веса верны, но у возвращённого состояния остался граф.
def fix_hidden_state(cell, o, x, y, state, k):
    return _each(lambda part: part.requires_grad_(), _run(cell, o, x, y, state, k, between=_cut))

# %% mistake="returns_nothing" theme="return"
# The weights are right, but nothing is returned.
# Веса верны, но ничего не возвращается.
def fix_hidden_state(cell, o, x, y, state, k):
    _run(cell, o, x, y, state, k, between=_cut)

# %% mistake="returns_a_list" theme="missing"
# A tuple came, and a list is returned. The state goes back in the form in which it came.
# Состояние пришло кортежем, а возвращён список. Вернуть его нужно в том же виде, в каком оно пришло.
def fix_hidden_state(cell, o, x, y, state, k):
    last = _run(cell, o, x, y, state, k, between=_cut)
    return list(last) if isinstance(last, tuple) else last

# %% mistake="drops_the_last_window" theme="missing"
# A last window with fewer than `k` steps is left out.
# Последнее окно, в котором меньше `k` шагов, пропущено.
def fix_hidden_state(cell, o, x, y, state, k):
    full = len(x) - len(x) % k
    return _run(cell, o, x[:full], y[:full], state, k, between=_cut)

# %% mistake="always_a_tuple" theme="missing"
# A state that is a single tensor was turned into a tuple: its rows became the items.
# Состояние из одного тензора превращено в кортеж: элементами стали строки этого тензора.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=lambda state: tuple(part.detach() for part in state))

# %% mistake="clears_only_afterwards" theme="order"
# The gradients are cleared after a step only. What was in `.grad` at the start gets into the first step.
# Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый шаг.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, clears="afterwards")

# %% mistake="clears_too_late" theme="order"
# The weights do not move: there is no gradient in `.grad` when the optimizer makes its step. Is `zero_grad()`
#     called after `backward()`?
# Веса не меняются: к шагу оптимизатора в `.grad` нет градиентов. Не вызван ли `zero_grad()` после `backward()`?
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, clears="too late")

# %% mistake="one_step_for_all" theme="order"
# The gradients of all windows are added up, and one step is made at the end. Each window makes a step of its own.
# Градиенты всех окон складываются, и в конце делается один шаг. А шаг нужен после каждого окна.
def fix_hidden_state(cell, o, x, y, state, k):
    o.zero_grad()
    return _run(cell, o, x, y, state, k, between=_cut, clears="never", steps="once")

# %% mistake="steps_by_hand" theme="missing"
# The optimizer that was passed makes no step.
# Переданный оптимизатор не делает ни одного шага.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, steps="by hand")

# %% mistake="last_loss_alone" theme="missing"
# Only the loss of the last step of a window is used. Asked for is the sum over its steps.
# Учтена функция потерь только на последнем шаге окна, а нужна сумма по всем его шагам.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, alone=True)

# %% mistake="first_window_of_one" theme="order"
# The windows are shifted: the first one ends after a single step.
# Окна сдвинуты: первое заканчивается после первого же шага.
def fix_hidden_state(cell, o, x, y, state, k):
    loss = 0.0
    for t, (x_t, y_t) in enumerate(zip(x, y)):
        prediction, state = cell(x_t, state)
        loss = loss + mse_loss(prediction, y_t)
        if t % k == 0:
            o.zero_grad()
            loss.backward()
            o.step()
            state, loss = _cut(state), 0.0
    return _cut(state)

# %% mistake="cuts_the_first_part" theme="recording"
# A single tensor is detached, but not every part of a tuple: what is left still carries the freed graph of its
#     window.
# Одиночный тензор отсоединён от графа, а в кортеже отсоединены не все: оставшийся по-прежнему тянет за собой
#     граф своего окна, а сохранённое в нём уже освобождено.
def fix_hidden_state(cell, o, x, y, state, k):
    def between(state):
        return (state[0].detach(), *state[1:]) if isinstance(state, tuple) else state.detach()

    return _run(cell, o, x, y, state, k, between=between)

# %% mistake="one_last_step" theme="order"
# One step is made at the end, with the gradient of the last window. Each window makes a step of its own.
# Сделан один шаг, в конце, с градиентом последнего окна. А каждое окно должно делать свой шаг.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, steps="once")

# %% mistake="sums_the_entries" theme="scaling"
# The squared errors of a step are summed over its entries. Its loss is `mse_loss`, their mean.
# Квадраты ошибок шага сложены по элементам. Функция потерь шага — `mse_loss`, их среднее.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, factor=lambda steps, entries: entries)

# %% mistake="divides_by_k" theme="scaling"
# The loss of a window is divided by `k`, also in a last window that has fewer steps. Asked for is the sum.
# Функция потерь окна делится на `k` и в последнем окне, где шагов меньше. А нужна сумма.
def fix_hidden_state(cell, o, x, y, state, k):
    return _run(cell, o, x, y, state, k, between=_cut, factor=lambda steps, entries: 1 / k)

# %% mistake="returns_the_first_part" theme="missing"
# Only the first part of the tuple is returned. The state goes back in the form in which it came.
# Возвращена только первая часть кортежа. А состояние нужно вернуть в том же виде, в каком оно пришло.
def fix_hidden_state(cell, o, x, y, state, k):
    last = _run(cell, o, x, y, state, k, between=_cut)
    return last[0] if isinstance(last, tuple) else last

# %% mistake="clears_before_the_loop" theme="accumulation"
# `.grad` is cleared once, before the first window: each further step is made with the sum over all windows so far.
# Поля `.grad` обнулены один раз, перед первым окном: каждый следующий шаг делается по сумме за все прошедшие окна.
def fix_hidden_state(cell, optimizer, x, y, state, k):
    optimizer.zero_grad()
    return _run(cell, optimizer, x, y, state, k, between=_cut, clears="never")

# %% mistake="steps_at_every_time" theme="order"
# Every step in time has a loss and an `optimizer.step()` of its own. There is one for each window.
# На каждом шаге времени свои функция потерь и вызов `optimizer.step()`. Нужен один вызов на окно.
def fix_hidden_state(cell, optimizer, x, y, state, k):
    return _run(cell, optimizer, x, y, state, 1, between=_cut)
