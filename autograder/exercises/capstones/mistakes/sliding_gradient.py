# %%
import torch
from torch.nn.functional import mse_loss


def _weights(cell):
    return [p for p in cell.parameters() if p.requires_grad]


def _again(cell, x, y, h, back):
    """Run the cell anew for each loss, from `back(t)` calls before step t on; return the summed gradients."""
    states = [h]
    with torch.no_grad():
        for x_t in x:
            states.append(cell(x_t, states[-1])[1])
    sums = [torch.zeros_like(w) for w in _weights(cell)]
    for t in range(len(x)):
        first = max(0, t + 1 - back(t))
        state = states[first]
        for x_t in x[first : t + 1]:
            prediction, state = cell(x_t, state)
        found = torch.autograd.grad(mse_loss(prediction, y[t]), _weights(cell), materialize_grads=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums


def _linked(cell, x, y, h, k, *, back, counts_again=False, mean=False):
    """Carry gradients from link to link.

    The loss of step t goes back through `back(t)` calls; 0 leaves it out. If `counts_again`, the gradients of a
    step are added once more at each link. If `mean`, the losses are averaged.
    """
    weights, links = _weights(cell), []
    sums = [torch.zeros_like(w) for w in weights]
    for t, x_t in enumerate(x):
        start = h.detach().requires_grad_()
        prediction, h = cell(x_t, start)
        links.append((start, h))
        if back(t) == 0:
            continue
        loss = mse_loss(prediction, y[t]) / (len(x) if mean else 1)
        *first, v = torch.autograd.grad(loss, (*weights, start), retain_graph=True, materialize_grads=True)
        sums = [a + b for a, b in zip(sums, first)]
        reach = back(t)
        for start, end in reversed(links[-reach:-1] if reach > 1 else []):
            *found, v = torch.autograd.grad(end, (*weights, start), v, retain_graph=True, materialize_grads=True)
            sums = [a + b for a, b in zip(sums, found)]
            if counts_again:
                sums = [a + b for a, b in zip(sums, first)]
    return sums

# %% mistake="goes_all_the_way" theme="recording"
# This is the full gradient: from every loss it goes back to the beginning.
# Это полный градиент: от каждой функции потерь он идёт до самого начала.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: t + 1)

# %% mistake="one_call" theme="recording"
# The state is cut at every step: from each loss the gradient goes through one call.
# Состояние отсоединено на каждом шаге: от каждой функции потерь градиент проходит через один вызов.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: 1)

# %% mistake="side_by_side" theme="recording"
# The windows lie side by side and do not slide: a loss at the start of a window goes back through one call only.
# Окна стоят рядом, а не скользят: от функции потерь в начале окна градиент проходит только через один вызов.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: t % k + 1)

# %% mistake="one_cut" theme="recording"
# The history is cut once, `k` steps before the end: from the losses before the cut the gradient goes to the very
#     beginning.
# История оборвана один раз, за `k` шагов до конца: от всех более ранних функций потерь градиент идёт до самого начала.
def sliding_gradient(cell, x, y, h, k):
    cut = max(0, len(x) - k)
    return _linked(cell, x, y, h, k, back=lambda t: t + 1 if t < cut else t - cut + 1)

# %% mistake="one_too_far" theme="recording"
# The gradient goes one call too far: through `k + 1` of them.
# Градиент проходит на один вызов дальше нужного: через `k + 1` вызов.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: k + 1)

# %% mistake="one_too_short" theme="recording"
# The gradient stops one call too early: after `k - 1` of them.
# Градиент останавливается на один вызов раньше нужного: после `k - 1`.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: k - 1)

# %% mistake="counts_twice" theme="accumulation"
# The gradients of a step's own call are added again at each link.
# Градиенты от вызова ячейки на самом шаге прибавлены ещё раз в каждом звене.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: k, counts_again=True)

# %% mistake="averages" theme="scaling"
# The losses are averaged. Their sum is asked for.
# Значения функции потерь усреднены, а нужна сумма.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: k, mean=True)

# %% mistake="last_loss_alone" theme="missing"
# Only the loss of the last step is differentiated.
# Дифференцируется только функция потерь последнего шага.
def sliding_gradient(cell, x, y, h, k):
    with torch.no_grad():
        for x_t in x[:-k]:
            _, h = cell(x_t, h)
    for x_t in x[-k:]:
        prediction, h = cell(x_t, h)
    return list(torch.autograd.grad(mse_loss(prediction, y[-1]), _weights(cell)))

# %% mistake="runs_anew" theme="cost" plain="yes"
# The gradients are right, but the cell runs anew for every loss, up to `k` times for each step.
# Градиенты верны, но для каждой функции потерь ячейка выполняется заново, до `k` раз на шаг.
def sliding_gradient(cell, x, y, h, k):
    return _again(cell, x, y, h, back=lambda t: k)

# %% mistake="into_grad" theme="accumulation"
# The gradients went into `.grad`. They are to be returned, and `.grad` stays as it was.
# Градиенты попали в `.grad`. Их нужно вернуть, а поле `.grad` менять нельзя.
def sliding_gradient(cell, x, y, h, k):
    found = _linked(cell, x, y, h, k, back=lambda t: k)
    for weight, gradient in zip(_weights(cell), found):
        weight.grad = gradient
    return found

# %% mistake="returns_nothing" theme="return"
# Nothing is returned.
# Функция ничего не возвращает.
def sliding_gradient(cell, x, y, h, k):
    _linked(cell, x, y, h, k, back=lambda t: k)

# %% mistake="full_windows_only" theme="missing"
# The first `k - 1` losses are left out. They go back through as many calls as there are.
# Пропущены функции потерь первых `k - 1` шагов. От них градиент проходит через столько вызовов, сколько есть.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, h, k, back=lambda t: k if t >= k - 1 else 0)

# %% mistake="windows_that_overlap" theme="accumulation"
# At every step all losses of its window are differentiated. Windows overlap, so most losses count several times.
# На каждом шаге дифференцируются все функции потерь его окна. Окна перекрываются, и почти каждая учтена несколько
#     раз.
def sliding_gradient(cell, x, y, h, k):
    sums, weights, states = [torch.zeros_like(w) for w in _weights(cell)], _weights(cell), [h]
    for t in range(len(x)):
        first = max(0, t + 1 - k)
        state, loss = states[first], torch.zeros((), dtype=x.dtype)
        for each in range(first, t + 1):
            prediction, state = cell(x[each], state)
            loss = loss + mse_loss(prediction, y[each])
        states.append(state.detach())
        found = torch.autograd.grad(loss, weights, materialize_grads=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums

# %% mistake="zeros_for_the_frozen" theme="recording"
# Something is returned for frozen parameters as well. The list has an entry for each parameter that requires grad.
# Что-то возвращено и для замороженных параметров. В списке должно быть по элементу на каждый параметр, который
#     требует градиента.
def sliding_gradient(cell, x, y, h, k):
    found = iter(_linked(cell, x, y, h, k, back=lambda t: k))
    return [next(found) if p.requires_grad else torch.zeros_like(p) for p in cell.parameters()]

# %% mistake="returns_a_dict" theme="missing"
# A dict is returned. Asked for is a list.
# Возвращён словарь, а нужен список.
def sliding_gradient(cell, x, y, h, k):
    names = [name for name, p in cell.named_parameters() if p.requires_grad]
    return dict(zip(names, _linked(cell, x, y, h, k, back=lambda t: k)))

# %% mistake="clears_grad" theme="accumulation"
# `.grad` is empty at the end: what was there before is lost.
# В конце поля `.grad` пусты: то, что лежало в них раньше, потеряно.
def sliding_gradient(cell, x, y, h, k):
    found = _linked(cell, x, y, h, k, back=lambda t: k)
    cell.zero_grad()
    return found

# %% mistake="detaches_in_place" theme="in_place"
# `detach_()` changes a state that the graph of a later step has saved. Cut a copy instead: `h.detach()`.
# Метод `detach_()` изменяет состояние, которое сохранено в графе следующего шага. Отсоединяйте с помощью `h.detach()`.
def sliding_gradient(cell, x, y, h, k):
    sums = [torch.zeros_like(w) for w in _weights(cell)]
    states = []
    for t, x_t in enumerate(x):
        if t >= k:
            states[-k].detach_()
        prediction, h = cell(x_t, h)
        states.append(h)
        found = torch.autograd.grad(mse_loss(prediction, y[t]), _weights(cell), retain_graph=True)
        sums = [a + b for a, b in zip(sums, found)]
    return sums

# %% mistake="gradients_of_the_frozen" theme="recording"
# The list also has gradients of frozen parameters. Asked for are those of the parameters that require grad.
# В списке есть и градиенты замороженных параметров. А нужны градиенты тех, которые требуют градиента.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell.requires_grad_(), x, y, h, k, back=lambda t: min(k, t + 1))

# %% mistake="stacks_the_steps" theme="accumulation"
# The gradients of the calls are stacked: there is one for each step. They are to be summed.
# Градиенты отдельных вызовов собраны в один тензор, по одному на каждый шаг. А их нужно сложить.
def sliding_gradient(cell, x, y, h, k):
    weights, losses = [], []
    for x_t, y_t in zip(x, y):
        weights.append({n: p.detach().requires_grad_() for n, p in cell.named_parameters() if p.requires_grad})
        prediction, h = torch.func.functional_call(cell, weights[-1], (x_t, h))
        losses.append(mse_loss(prediction, y_t))
    found = [
        torch.autograd.grad(
            torch.stack(losses[t : t + k]).sum(), list(w.values()), retain_graph=True, materialize_grads=True
        )
        for t, w in enumerate(weights)
    ]
    return [torch.stack(each) for each in zip(*found)]

# %% mistake="sums_the_entries" theme="scaling"
# The squared errors of a step are summed over its entries. Its loss is `mse_loss`, their mean.
# Квадраты ошибок шага сложены по элементам. Функция потерь шага — `mse_loss`, их среднее.
def sliding_gradient(cell, x, y, h, k):
    return [each * y[0].numel() for each in _linked(cell, x, y, h, k, back=lambda t: min(k, t + 1))]

# %% mistake="begins_with_zeros" theme="missing"
# The passed hidden state `h` is not used: the first step begins with zeros.
# Переданное скрытое состояние `h` не используется: первый шаг начинается с нулей.
def sliding_gradient(cell, x, y, h, k):
    return _linked(cell, x, y, torch.zeros_like(h), k, back=lambda t: min(k, t + 1))

# %% mistake="leaves_out_the_unused" theme="missing"
# A parameter on which no loss depends is missing in the list. Its gradient is zero, and the list has an entry for each
#     parameter.
# В списке нет параметра, от которого не зависит ни одна функция потерь. Его градиент равен нулю, а в списке есть место
#     для каждого параметра.
def sliding_gradient(cell, x, y, h, k):
    return [each for each in _linked(cell, x, y, h, k, back=lambda t: k) if each.any()]

# %% mistake="leaves_none" theme="missing"
# A parameter on which no loss depends has None in the list. Its gradient is zero: zeros belong there.
# У параметра, от которого не зависит ни одна функция потерь, в списке стоит None. Его градиент равен нулю: там должны
#     быть нули.
def sliding_gradient(cell, x, y, h, k):
    sums = _linked(cell, x, y, h, k, back=lambda t: min(t + 1, k))
    return [each if each.any() else None for each in sums]
