# %%
import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint


def checkpointed(cell, x, h):
    """Run the cell under a checkpoint."""
    return checkpoint(cell, x, h, use_reentrant=False)


def plain(cell, x, h):
    """Run the cell without a checkpoint."""
    return cell(x, h)


def window_loss(cell, x, y, h, run):
    """Return the summed squared errors of a window, and the hidden state after it."""
    total = torch.zeros((), dtype=x.dtype)
    for x_t, y_t in zip(x, y):
        prediction, h = run(cell, x_t, h)
        total = total + mse_loss(prediction, y_t, reduction="sum")
    return total, h


def _reentrant(cell, x, h):
    return checkpoint(cell, x, h, use_reentrant=True)


def _cut_each(cell, x, h):
    return checkpointed(cell, x, h.detach())


def _kept(h):
    return h


def _train(
    cell,
    optimizer,
    x,
    y,
    h,
    steps,
    rows,
    *,
    run,
    share=lambda part, window: 1 / window.numel(),
    carry=Tensor.detach,
    clears="before",
    retain=False,
    steps_each=False,
    once=False,
    last=True,
    last_part=True,
    returns="all",
):
    """Train with one fault or none.

    `run` calls the cell, `share` gives the factor of a micro-batch's summed loss, `carry` what the next window gets of
    a hidden state. `clears` says when `.grad` is cleared, `retain` whether graphs are kept. If `steps_each`, every
    micro-batch makes a step; if `once`, there is one step, at the end. If `last` is False, an incomplete window is dropped, and if `last_part` is False, an
    incomplete micro-batch. `returns` says which loss is returned.
    """
    total, windows = 0.0, []
    states = [part for part in h.split(rows) if last_part or len(part) == rows]
    for start in range(0, len(x) if last else len(x) - len(x) % steps, steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        if clears == "before":
            optimizer.zero_grad()
        of_window = 0.0
        for i, (x_part, y_part, _) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1), states)):
            if steps_each or clears == "each part":
                optimizer.zero_grad()
            loss, state = window_loss(cell, x_part, y_part, states[i], run)
            (loss * share(y_part, ys)).backward(retain_graph=retain)
            states[i] = carry(state)
            of_window += loss.item()
            del loss, state
            if steps_each:
                optimizer.step()
        if not (steps_each or once):
            optimizer.step()
        if clears == "afterwards":
            optimizer.zero_grad()
        total += of_window
        windows.append(of_window / ys.numel())
    if once:
        optimizer.step()
    if returns == "all":
        return torch.cat(states), total / y.numel()
    return torch.cat(states), windows[-1] if returns == "last window" else sum(windows) / len(windows)

# %% mistake="carries_the_graph" theme="graph_life"
# The hidden state goes into the next window together with its graph, which the first backward pass has freed.
#     Detach it between the windows.
# Скрытое состояние переходит в следующее окно вместе с графом, а сохранённое в нём первый обратный
#     проход уже освободил.
#     Отсоединяйте состояние между окнами.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=plain, carry=_kept)

# %% mistake="detaches_every_step" theme="recording"
# The hidden state is detached at every step, so no gradient goes back in time at all. It is cut between windows
#     only.
# Скрытое состояние отсоединяется на каждом шаге, и назад по времени градиент не идёт совсем. Обрывать граф нужно
#     только между окнами.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=_cut_each)

# %% mistake="forgets_the_state" theme="state"
# Every window begins with a hidden state of zeros. Only the graph is to be cut; the values go on.
# Каждое окно начинается с нулевого скрытого состояния. Оборвать нужно только граф, а значения переходят дальше.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, carry=lambda h: torch.zeros_like(h))

# %% mistake="weighs_them_alike" theme="scaling"
# The micro-batches have equal weights, although the last one is smaller: the gradient is a mean of means.
# У всех микробатчей одинаковый вес, хотя последний меньше: градиент — среднее средних.
def train_windows(c, o, x, y, h, steps, rows):
    parts = len(h.split(rows))
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (part.numel() * parts))

# %% mistake="sums_the_means" theme="scaling"
# The losses of the micro-batches are means, and are added without weights: the gradient is too long.
# Средние значения функции потерь по микробатчам сложены без весов: градиент слишком длинный.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / part.numel())

# %% mistake="never_divides" theme="scaling"
# The losses of a window are summed, not averaged.
# Значения функции потерь в окне сложены, а не усреднены.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1.0)

# %% mistake="divides_by_a_full_window" theme="scaling"
# The sum of squares is divided by `steps` full steps, also in a last window that has fewer.
# И в последнем, неполном окне сумма квадратов делится на `steps` шагов, хотя там их меньше.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (steps * window[0].numel())
    )

# %% mistake="divides_by_rows" theme="scaling"
# The columns of `y` are forgotten in the mean: the sum of squares is divided by steps and rows alone.
# При усреднении забыты столбцы `y`: сумма квадратов делится только на число шагов и строк.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / (len(window) * window.shape[1])
    )

# %% mistake="never_clears" theme="accumulation"
# Gradients are not cleared between the windows, or not before the first.
# Градиенты не обнуляются между окнами или перед первым из них.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="never")

# %% mistake="steps_for_each_part" theme="order"
# Every micro-batch makes a step of its own. There is one for a window.
# Каждый микробатч делает собственный шаг. На окно нужен один.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, steps_each=True)

# %% mistake="drops_the_last_window" theme="missing"
# A last window with fewer steps is dropped.
# Последнее окно, в котором шагов меньше, отброшено.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, last=False)

# %% mistake="reentrant" theme="recording"
# Neither `x` nor the first `h` requires grad, and the cell returns constants: so it is with the reentrant checkpoint.
# Ни `x`, ни первое `h` градиента не требуют, и возвращаются константы: так бывает со старым вариантом контрольной
#     точки.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=_reentrant)

# %% mistake="one_window" theme="order"
# There are no windows: one step is made for the whole sequence, with the full gradient.
# Окон нет: на всю последовательность сделан один шаг, с полным градиентом.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, len(x), rows, run=checkpointed)

# %% mistake="micro_batches_outside" theme="order"
# Each micro-batch goes through all windows before the next one begins. Then a step sees a part of the batch only.
# Каждый микробатч проходит все окна, и только потом начинается следующий. Тогда шаг учитывает лишь часть батча.
def train_windows(c, o, x, y, h, steps, rows):
    done = [
        _train(c, o, *parts, steps, rows, run=checkpointed)
        for parts in zip(x.split(rows, 1), y.split(rows, 1), h.split(rows))
    ]
    return torch.cat([state for state, _ in done]), sum(loss * len(state) for state, loss in done) / len(h)

# %% mistake="without_checkpoints" theme="cost" plain="yes"
# There are no checkpoints: a window keeps the inside of every call of the cell until its backward pass.
# Контрольных точек нет: содержимое каждого вызова ячейки хранится до обратного прохода окна.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=plain)

# %% mistake="whole_batches" theme="cost" plain="yes"
# The batch is not split: the cell runs on all rows at once.
# Батч не разделён: ячейка выполняется сразу для всех строк.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, len(h), run=checkpointed)

# %% mistake="whole_batches_without_checkpoints" theme="cost" plain="yes"
# The batch is not split, and there are no checkpoints.
# Батч не разделён, и контрольных точек нет.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, len(h), run=plain)

# %% mistake="one_checkpoint_for_a_window" theme="cost"
# A checkpoint holds a whole window: its recomputation builds the graph of all steps, and the peak only moves into
#     backward.
# Контрольная точка охватывает целое окно: при повторном вычислении строится граф всех шагов, и пик лишь переносится
#     в обратный проход.
def train_windows(c, o, x, y, h, steps, rows):
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        o.zero_grad()
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):
            loss, state = checkpoint(window_loss, c, x_part, y_part, states[i], plain, use_reentrant=False)
            (loss / ys.numel()).backward()
            states[i] = state.detach()
            total += loss.item()
            del loss, state
        o.step()
    return torch.cat(states), total / y.numel()

# %% mistake="one_backward" theme="cost"
# The losses of the micro-batches go backward together, and there are no checkpoints: until then the graphs of all
#     of them are in memory.
# Обратный проход для всех микробатчей один, общий, а контрольных точек нет: до него в памяти лежат графы всех.
def train_windows(c, o, x, y, h, steps, rows):
    states, total = list(h.split(rows)), 0.0
    for start in range(0, len(x), steps):
        xs, ys = x[start : start + steps], y[start : start + steps]
        o.zero_grad()
        losses = 0.0
        for i, (x_part, y_part) in enumerate(zip(xs.split(rows, dim=1), ys.split(rows, dim=1))):
            loss, state = window_loss(c, x_part, y_part, states[i], plain)
            losses, states[i] = losses + loss, state.detach()
        (losses / ys.numel()).backward()
        total += losses.item()
        o.step()
    return torch.cat(states), total / y.numel()

# %% mistake="returns_a_graph" theme="recording"
# The returned hidden state requires grad: it still has a graph, or its flag was set.
# Возвращённое скрытое состояние требует градиента: у него остался граф или включён флаг.
def train_windows(c, o, x, y, h, steps, rows):
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state.requires_grad_(), loss

# %% mistake="averages_the_windows" theme="scaling"
# The loss is a plain mean over the windows, although the last one may be shorter.
# Возвращено простое среднее по окнам, хотя последнее окно может быть короче.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, returns="mean of windows")

# %% mistake="returns_a_tensor" theme="missing"
# The loss is returned as a tensor: `.item()` makes a number of it.
# Значение функции потерь возвращено как тензор: число из него делает `.item()`.
def train_windows(c, o, x, y, h, steps, rows):
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state, torch.tensor(loss, dtype=torch.float64)

# %% mistake="measures_afterwards" theme="order"
# The loss was computed anew with the final weights. Asked for is the mean of the losses the model learned from.
# Функция потерь вычислена заново с последними весами. Нужно среднее тех значений, на которых модель училась.
def train_windows(c, o, x, y, h, steps, rows):
    state, _ = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    with torch.no_grad():
        loss, _ = window_loss(c, x[:, :rows], y[:, :rows], h[:rows], plain)
        for first in range(rows, len(h), rows):
            part = slice(first, first + rows)
            loss = loss + window_loss(c, x[:, part], y[:, part], h[part], plain)[0]
    return state, loss.item() / y.numel()

# %% mistake="measures_all_rows" theme="order"
# The loss was computed anew with the final weights, for all rows at once, and that takes more memory than is
#     allowed. Asked for is the mean of the losses the model learned from.
# Функция потерь вычислена заново с последними весами, сразу для всех строк, и памяти на это уходит больше, чем
#     разрешено. Нужно среднее тех значений, на которых модель училась.
def train_windows(c, o, x, y, h, steps, rows):
    state, _ = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    with torch.no_grad():
        loss, _ = window_loss(c, x, y, h, plain)
    return state, loss.item() / y.numel()

# %% mistake="returns_nothing" theme="return"
# Nothing is returned.
# Функция ничего не возвращает.
def train_windows(c, o, x, y, h, steps, rows):
    _train(c, o, x, y, h, steps, rows, run=checkpointed)

# %% mistake="thaws_the_base" theme="state"
# Frozen weights were thawed: their flags are on, and what their gradients need takes memory as well.
# Замороженные веса разморожены: их флаги включены, и память занимает ещё и то, что нужно для их градиентов.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c.requires_grad_(), o, x, y, h, steps, rows, run=checkpointed)

# %% mistake="clears_only_afterwards" theme="order"
# The gradients are cleared after a step only. What was in `.grad` at the start gets into the first step.
# Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый шаг.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="afterwards")

# %% mistake="clears_for_each_part" theme="accumulation"
# The gradients are cleared for every micro-batch: a step uses those of the last one only.
# Градиенты обнуляются перед каждым микробатчем: в шаг входят градиенты только последнего.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, clears="each part")

# %% mistake="begins_with_the_first" theme="state"
# Every window begins with the hidden state that was passed at the start. The values have to go on.
# Каждое окно начинается с того скрытого состояния, которое было передано вначале. А его значения должны переходить
#     дальше.
def train_windows(c, o, x, y, h, steps, rows):
    for start in range(0, len(x), steps):
        result = _train(c, o, x[start : start + steps], y[start : start + steps], h, steps, rows, run=checkpointed)
    return result

# %% mistake="keeps_the_history" theme="graph_life"
# The graphs are kept, and the gradient of a window goes back through the windows before it. Detach the hidden state
#     between them.
# Графы сохраняются, и градиент окна проходит через предыдущие окна. Между окнами отсоединяйте скрытое состояние.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, carry=_kept, retain=True)

# %% mistake="loss_of_the_last" theme="missing"
# The loss of the last window alone is returned.
# Возвращено значение функции потерь только последнего окна.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, returns="last window")

# %% mistake="drops_the_last_part" theme="missing"
# A last micro-batch with fewer rows is dropped.
# Последний микробатч, в котором строк меньше, отброшен.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, last_part=False)

# %% mistake="recomputes_the_last" theme="own"
# In the backward pass every call is recomputed with the last `x` of the window. A function that is made in a loop
#     reads its names when it runs: pass `x` to `checkpoint` as an argument.
# В обратном проходе каждый вызов вычисляется повторно с последним `x` окна. Функция, созданная в цикле, читает
#     имена в момент вызова: передайте `x` функции `checkpoint` аргументом.
def train_windows(c, o, x, y, h, steps, rows):
    latest = []

    def run(cell, x, h):
        latest[:] = [x]
        return checkpoint(lambda state: cell(latest[0], state), h, use_reentrant=False)

    # Another mean, because the right one comes out by chance on one seed of the gate.
    return _train(c, o, x, y, h, steps, rows, run=run, returns="mean of windows")

# %% mistake="divides_by_steps" theme="scaling"
# The rows are forgotten in the mean: the sum of squares is divided by the steps alone.
# При усреднении забыты строки: сумма квадратов делится только на число шагов.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / len(window))

# %% mistake="counts_full_parts" theme="scaling"
# Every micro-batch is counted with `rows` rows in the mean, also the last one, which has fewer.
# При усреднении считается, что в каждом микробатче `rows` строк, хотя в последнем их меньше.
def train_windows(c, o, x, y, h, steps, rows):
    full = len(h.split(rows)) * rows
    return _train(
        c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: len(h) / full / window.numel()
    )

# %% mistake="divides_by_everything" theme="scaling"
# The sum of squares is divided by all entries of `y`, not by those in the window.
# Сумма квадратов делится на число всех элементов `y`, а не на число элементов в окне.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / y.numel())

# %% mistake="divides_by_one_step" theme="scaling"
# The steps are forgotten in the mean: the sum of squares is divided by the entries of a single step.
# При усреднении забыты шаги: сумма квадратов делится на число элементов одного шага.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, share=lambda part, window: 1 / window[0].numel())

# %% mistake="shares_outside" like="micro_batches_outside"
def train_windows(c, o, x, y, h, steps, rows):
    done = [
        _train(
            c, o, *parts, steps, rows, run=checkpointed, share=lambda part, _: 1 / (len(part) * len(h) * part.shape[2])
        )
        for parts in zip(x.split(rows, 1), y.split(rows, 1), h.split(rows))
    ]
    return torch.cat([state for state, _ in done]), sum(loss * len(state) for state, loss in done) / len(h)

# %% mistake="one_last_step" theme="order"
# One step is made at the end, with the gradient of the last window. Each window makes a step of its own.
# Сделан один шаг, в конце, с градиентом последнего окна. А каждое окно должно делать свой шаг.
def train_windows(c, o, x, y, h, steps, rows):
    # Another mean, because on some seeds Adam's first step is that of `one_window`.
    return _train(c, o, x, y, h, steps, rows, run=checkpointed, once=True, returns="last window")

# %% mistake="state_of_the_last_part" theme="missing"
# The hidden state of the last micro-batch alone is returned.
# Возвращено скрытое состояние только последнего микробатча.
def train_windows(c, o, x, y, h, steps, rows):
    state, loss = _train(c, o, x, y, h, steps, rows, run=checkpointed)
    return state.split(rows)[-1], loss

# %% mistake="takes_rows_for_parts" theme="own"
# The batch is cut into `rows` parts. A micro-batch has `rows` rows, so there are often more parts, and smaller
#     ones.
# Батч разрезан на `rows` частей. А в каждом микробатче должно быть `rows` строк: тогда микробатчей часто больше, и они меньше.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h, steps, -(-len(h) // rows), run=checkpointed)

# %% mistake="total_on_the_cpu" theme="device"
# A tensor was made on the CPU, although the cell and its inputs lie on a GPU, and torch refuses to mix the two.
#     `torch.zeros_like(...)`, `device=x.device` or the number `0.0` follow them.
# Какой-то тензор создан на CPU, хотя ячейка и её входы лежат на GPU, и torch отказывается их смешивать. Помогут
#     `torch.zeros_like(...)`, `device=x.device` или число `0.0`.
def train_windows(c, o, x, y, h, steps, rows):
    return _train(c, o, x, y, h + torch.zeros(h.shape, dtype=h.dtype), steps, rows, run=checkpointed)
