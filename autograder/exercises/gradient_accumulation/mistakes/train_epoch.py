# %%
import torch
from torch.nn.functional import mse_loss

from .common import clearing_gradients, count_samples, join_windows, train_in_windows


def _train_and_record(model, optimizer, batches, k):
    """Train for one epoch as the solution does, and return loss and size of each micro-batch."""
    recorded = []
    for start in range(0, len(batches), k):
        window = batches[start : start + k]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            recorded.append((loss.item(), len(x)))
        optimizer.step()
    return recorded


def _mean(recorded):
    return sum(loss * n for loss, n in recorded) / sum(n for _, n in recorded)

# %% mistake="drops_the_last_window" theme="missing"
# The last, incomplete window never gets its step: its samples teach nothing.
# Последнее, неполное окно остаётся без шага: его примеры ничему не учат.
def train_epoch(model, optimizer, batches, accumulation_steps):
    whole = len(batches) - len(batches) % accumulation_steps
    return train_in_windows(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: n / count_samples(w))

# %% mistake="always_divides_by_k" theme="scaling"
# Every loss is divided by K, whatever the sizes and even in the last, shorter window.
# Каждое значение функции потерь делится на K, независимо от размеров и даже в последнем, коротком окне.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / accumulation_steps)

# %% mistake="same_weight_in_a_window" theme="scaling"
# Each micro-batch of a window got the same weight, although they have different sizes.
# Все микробатчи окна получили одинаковый вес, хотя размеры у них разные.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: 1 / len(w))

# %% mistake="divides_by_the_epoch" theme="scaling"
# Gradients are divided by the samples of the whole epoch instead of those of their window.
# Градиенты делятся на число примеров всей эпохи, а не своего окна.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(batches))

# %% mistake="usual_pattern" theme="scaling"
# The loop is the usual one: every loss divided by K, and no step for the last, incomplete window.
# Цикл написан как обычно: потери каждого микробатча делятся на K, а последнее, неполное окно остаётся без шага.
def train_epoch(model, optimizer, batches, accumulation_steps):
    whole = len(batches) - len(batches) % accumulation_steps
    return train_in_windows(model, optimizer, batches[:whole], accumulation_steps, lambda w, n: 1 / accumulation_steps)

# %% mistake="never_clears_a_window" theme="accumulation"
# Gradients are never cleared: each window still holds those of the windows before it.
# Градиенты никогда не обнуляются: в каждом окне остаются градиенты предыдущих окон.
def train_epoch(model, optimizer, batches, accumulation_steps):
    optimizer.zero_grad = lambda: None
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w))

# %% mistake="zeroes_in_the_window" theme="accumulation"
# Gradients are zeroed for every micro-batch: the step uses only the last one of a window.
# Градиенты обнуляются для каждого микробатча: в шаг входит только последний микробатч окна.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(
        clearing_gradients(model), optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w)
    )

# %% mistake="joins_a_window" theme="cost"
# Each window was joined into one big batch. The weights are right, but nothing was accumulated.
# Каждое окно объединено в один большой батч. Веса верны, но накопления не было.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, join_windows(batches, accumulation_steps), 1, lambda w, n: 1.0)

# %% mistake="sums_a_window" theme="cost"
# The losses of a window are summed and go backward together: all its graphs are in memory at once.
# Потери окна складываются, а обратный проход у них один, общий: в памяти одновременно лежат все графы окна.
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y) * len(x) / count_samples(window) for x, y in window]
        sum(losses).backward()
        optimizer.step()
        total += sum(loss.item() for loss in losses) * count_samples(window)
    return total / count_samples(batches)

# %% mistake="returns_a_tensor" theme="graph_life"
# The total of the losses is still a tensor. Unless detached, it carries the history of every micro-batch along:
#     `.item()` gives numbers without one.
# Сумма потерь осталась тензором. Если её не отсоединить от графа, она хранит историю всех микробатчей: числа без
#     истории даёт `.item()`.
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = torch.zeros((), dtype=torch.float64)
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            total = total + loss * len(x)
        optimizer.step()
    return total / count_samples(batches)

# %% mistake="averages_the_means" theme="scaling"
# The plain mean of the micro-batches' losses is returned, although their sizes differ.
# Возвращается простое среднее потерь по микробатчам, хотя размеры у них разные.
def train_epoch(model, optimizer, batches, accumulation_steps):
    losses = []
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
            losses.append(loss.item())
        optimizer.step()
    return sum(losses) / len(losses)

# %% mistake="lowers_the_rate_of_a_window" theme="scaling"
# The gradient is K times too long, and the learning rate was lowered to make up for it. That works for plain SGD
#     only, not with Adam or weight decay.
# Градиент в K раз длиннее нужного, и вместо него уменьшена скорость обучения. Такой приём верен только для простого
#     SGD, а для Adam или при затухании весов — нет.
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    rates = [group["lr"] for group in optimizer.param_groups]
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            loss.backward()
            total += loss.item()
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate / sum(y.numel() for _, y in window)
        optimizer.step()
    return total / sum(y.numel() for _, y in batches)

# %% mistake="divides_the_weight_of_a_window" theme="missing"
# Only `model.weight.grad` is divided by K. A model may have other parameters, such as a bias.
# На K делится только `model.weight.grad`. У модели могут быть и другие параметры, например смещение (bias).
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y) * len(x)
            loss.backward()
            total += loss.item()
        if hasattr(model, "weight"):  # the model whose memory is measured has no such attribute
            model.weight.grad /= count_samples(window)
        optimizer.step()
    return total / count_samples(batches)

# %% mistake="divides_a_window_by_rows" theme="scaling"
# The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there
#     are twice as many entries.
# Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов
#     вдвое больше.
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y, reduction="sum")
            (loss / count_samples(window)).backward()
            total += loss.item()
        optimizer.step()
    return total / count_samples(batches)

# %% mistake="steps_at_every_micro_batch" theme="order"
# The optimizer steps after every micro-batch: nothing is accumulated over the window.
# Шаг оптимизатора делается после каждого микробатча: за окно ничего не накапливается.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, batches, 1, lambda w, n: 1.0)

# %% mistake="multiplies_by_sizes" theme="scaling"
# The sizes were multiplied in, but the sum was not divided by the samples of the window.
# Значения умножены на размеры микробатчей, но сумма не разделена на число примеров окна.
def train_epoch(model, optimizer, batches, accumulation_steps):
    return train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n)

# %% mistake="runs_forward_first" theme="cost"
# The graphs of a whole window are in memory at once: all forward passes come before the first `backward()`, or
#     `retain_graph=True` keeps every graph.
# В памяти одновременно лежат графы всего окна: все прямые проходы идут раньше первого `backward()`, или графы
#     сохраняет `retain_graph=True`.
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y) * len(x) for x, y in window]
        for loss in losses:
            (loss / count_samples(window)).backward()
            total += loss.item()
        optimizer.step()
    return total / count_samples(batches)

# %% mistake="returns_nothing" theme="return"
# Nothing was returned: `return` is missing.
# Функция ничего не возвращает: забыт `return`.
def train_epoch(model, optimizer, batches, accumulation_steps):
    train_in_windows(model, optimizer, batches, accumulation_steps, lambda w, n: n / count_samples(w))

# %% mistake="returns_the_last_loss" theme="missing"
# The loss of the last micro-batch alone was returned.
# Возвращено значение функции потерь только на последнем микробатче.
def train_epoch(model, optimizer, batches, accumulation_steps):
    for start in range(0, len(batches), accumulation_steps):
        window = batches[start : start + accumulation_steps]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * len(x) / count_samples(window)).backward()
        optimizer.step()
    return loss.item()

# %% mistake="returns_the_last_window" theme="missing"
# The mean loss is that of the last window alone: the total begins anew in each window.
# Возвращено среднее только по последнему окну: сумма в каждом окне начинается заново.
def train_epoch(model, optimizer, batches, accumulation_steps):
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    start = (len(batches) - 1) // accumulation_steps * accumulation_steps
    return _mean(recorded[start:])

# %% mistake="measures_afterwards" theme="order"
# The losses were computed anew after training, with the final weights. Asked for is the mean of the losses from
#     which the model learned.
# Значения функции потерь вычислены заново после обучения, при последних весах. Нужно среднее тех, на которых модель
#     училась.
def train_epoch(model, optimizer, batches, accumulation_steps):
    _train_and_record(model, optimizer, batches, accumulation_steps)
    with torch.no_grad():
        return _mean([(mse_loss(model(x), y).item(), len(x)) for x, y in batches])

# %% mistake="steps_once_more" theme="order"
# There is one step too many: after the last window the optimizer steps again with the same gradients.
# Сделан лишний шаг: после последнего окна оптимизатор ещё раз использует те же градиенты.
def train_epoch(model, optimizer, batches, accumulation_steps):
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    optimizer.step()
    return _mean(recorded)

# %% mistake="always_steps_at_the_end" theme="order"
# After the loop a step is made for a last, incomplete window, although the last window may be complete.
# После цикла делается шаг для последнего, неполного окна, хотя последнее окно может быть и полным.
def train_epoch(model, optimizer, batches, accumulation_steps):
    recorded = _train_and_record(model, optimizer, batches, accumulation_steps)
    if len(batches) % accumulation_steps == 0:
        optimizer.zero_grad()
        optimizer.step()
    return _mean(recorded)

# %% mistake="total_on_the_cpu" theme="device"
# A tensor was made on the CPU, although model and batches lie on a GPU, and torch refuses to mix the two. A total
#     that begins as the number `0.0` needs no device.
# Какой-то тензор создан на CPU, хотя модель и батчи лежат на GPU, и torch отказывается их смешивать. Сумме,
#     которая начинается с числа `0.0`, устройство не нужно.
def train_epoch(model, optimizer, batches, accumulation_steps):
    losses = torch.tensor([loss for loss, _ in _train_and_record(model, optimizer, batches, accumulation_steps)])
    counts = torch.stack([torch.ones_like(x[0, 0]) * len(x) for x, _ in batches])
    return (losses.to(counts.dtype) * counts).sum().item() / counts.sum().item()
