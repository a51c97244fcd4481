# %%
import torch
from torch.nn.functional import mse_loss


def _mean_and_extreme(model, batches, choose):
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), choose(losses)

# %% mistake="keeps_every_graph" theme="graph_life"
# The graph of every batch stays until the end: in a list of losses, or behind a total or a maximum that is a
#     tensor.
# Граф каждого батча остаётся до конца: его удерживает список значений функции потерь либо сумма или максимум,
#     которые остались тензорами.
def mean_and_worst(model, batches):
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses) / len(losses), max(losses)

# %% mistake="returns_a_tensor" theme="graph_life"
# The mean is still a tensor. Unless detached, it holds the graphs of all batches: `.item()` gives numbers without a
#     graph.
# Среднее осталось тензором. Если его не отсоединить, оно удержит графы всех батчей: числа без графа даёт `.item()`.
def mean_and_worst(model, batches):
    losses = [mse_loss(model(x), y) for x, y in batches]
    return torch.stack(losses).mean(), max(losses)

# %% mistake="returns_the_sum" theme="scaling"
# The losses were added up, but not divided by the number of batches.
# Значения функции потерь сложены, но не разделены на число батчей.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean * len(batches), worst

# %% mistake="detaches_the_worst" theme="recording"
# For the worst batch a tensor without a graph was returned: it was detached, or computed under `no_grad`.
# Для худшего батча возвращён тензор без графа: он отсоединён или вычислен внутри `no_grad`.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.detach()

# %% mistake="makes_the_worst_a_number" theme="recording"
# The worst loss was returned as a number. A number has no graph, and no backward pass can start from it.
# Наибольшее значение функции потерь возвращено как число. У числа нет графа, и обратный проход от него невозможен.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    return mean, worst.item()

# %% mistake="keeps_the_best" theme="missing"
# The batch with the smallest loss was kept.
# Оставлен батч с наименьшим значением функции потерь.
def mean_and_worst(model, batches):
    return _mean_and_extreme(model, batches, min)

# %% mistake="keeps_the_last" theme="missing"
# The last batch was kept, whatever its loss.
# Оставлен последний батч, каково бы ни было на нём значение функции потерь.
def mean_and_worst(model, batches):
    mean, _ = _mean_and_extreme(model, batches, max)
    return mean, mse_loss(model(batches[-1][0]), batches[-1][1])

# %% mistake="uses_the_graph_up" theme="graph_life"
# A backward pass from the worst loss was made inside the function. It is for the caller to make.
# Внутри функции выполнен обратный проход от наибольшего значения функции потерь. Его выполнит вызывающий код.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    worst.backward()
    return mean, worst

# %% mistake="goes_backward_for_every_batch" theme="accumulation"
# A backward pass was made inside the function for every batch, and gradients were added to `.grad`.
# Внутри функции выполнен обратный проход для каждого батча, и к `.grad` прибавлены градиенты.
def mean_and_worst(model, batches):
    for x, y in batches:
        mse_loss(model(x), y).backward()
    return _mean_and_extreme(model, batches, max)

# %% mistake="leaves_eval_mode" theme="state"
# The model was left in evaluation mode. The mode was not to be changed.
# Модель осталась в режиме оценки. Менять режим не требовалось.
def mean_and_worst(model, batches):
    model.eval()
    return _mean_and_extreme(model, batches, max)

# %% mistake="leaves_training_mode" theme="state"
# The model was put into training mode. It came in evaluation mode, and the mode was not to be changed.
# Модель переведена в режим обучения. Она была в режиме оценки, и менять режим не требовалось.
def mean_and_worst(model, batches):
    pair = _mean_and_extreme(model, batches, max)
    model.train()
    return pair

# %% mistake="reorders_the_list" theme="in_place"
# The batches stand in another order, as after `batches.sort()`. The list is the caller's: `sorted()` makes a new one.
# Батчи стоят в другом порядке, как после `batches.sort()`. Это чужой список, а `sorted()` создаёт новый.
def mean_and_worst(model, batches):
    pair = _mean_and_extreme(model, batches, max)
    batches.sort(key=lambda batch: mse_loss(model(batch[0]), batch[1]).item())
    return pair

# %% mistake="clears_the_gradients" theme="accumulation"
# The function clears `.grad`. What lies there belongs to the caller.
# В функции обнуляется `.grad`. То, что там лежит, принадлежит вызывающему коду.
def mean_and_worst(model, batches):
    model.zero_grad()
    return _mean_and_extreme(model, batches, max)

# %% mistake="swaps_the_two" theme="missing"
# The two values were returned in the wrong order: the tensor stands first.
# Значения возвращены не в том порядке: тензор стоит первым.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    return worst, mean

# %% mistake="keeps_several" theme="graph_life"
# More graphs are kept than needed: those of several batches at once.
# Хранится больше графов, чем нужно: сразу для нескольких батчей.
def mean_and_worst(model, batches):
    kept = []
    total = 0.0
    for x, y in batches:
        kept = sorted([*kept, mse_loss(model(x), y)])[-4:]
        total += mse_loss(model(x), y).item()
    return total / len(batches), kept[-1]

# %% mistake="joins_the_batches" theme="cost"
# All batches were put together and computed at once. The memory grows with their number, with a graph or without.
# Все батчи склеены, и функция потерь вычислена для всех сразу. Расход памяти растёт с числом батчей, есть граф или нет.
def mean_and_worst(model, batches):
    with torch.no_grad():
        x, y = (torch.cat(each) for each in zip(*batches))
        losses = ((model(x) - y) ** 2).flatten().reshape(len(batches), -1).mean(1)
    x, y = batches[int(losses.argmax())]
    return losses.mean().item(), mse_loss(model(x), y)

# %% mistake="starts_from_zero" theme="missing"
# The search for the greatest loss starts from 0, and only a greater one replaces it: if every loss is 0, the 0
#     without a graph comes back.
# Поиск наибольшего значения начат с нуля, а заменить его может только большее: если все значения функции потерь
#     равны 0, возвращается этот ноль без графа.
def mean_and_worst(model, batches):
    total, worst = 0.0, torch.tensor(0.0)
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.item()
        if loss > worst:
            worst = loss
    return total / len(batches), worst

# %% mistake="empties_the_list" theme="in_place"
# The batches were taken out of the caller's list. A loop over it leaves the list as it was.
# Батчи изъяты из списка, который принадлежит вызывающему коду. Цикл по списку его не меняет.
def mean_and_worst(model, batches):
    mean, worst = _mean_and_extreme(model, batches, max)
    batches.clear()
    return mean, worst

# %% mistake="leaves_out_the_first" theme="missing"
# The loss of the first batch is missing from the mean.
# В среднем не учтено значение функции потерь на первом батче.
def mean_and_worst(model, batches):
    losses = [mse_loss(model(x), y) for x, y in batches]
    return sum(loss.item() for loss in losses[1:]) / len(losses), max(losses)

# %% mistake="evaluates_for_a_while" theme="recording"
# The losses were computed in evaluation mode. A model may compute something else in it: the mode was not to be
#     changed, not even for a while.
# Потери вычислены в режиме оценки. Модель может вычислять в нём не то, поэтому
#     режим нельзя было менять даже на время.
def mean_and_worst(model, batches):
    training = model.training
    model.eval()
    pair = _mean_and_extreme(model, batches, max)
    model.train(training)
    return pair

# %% mistake="total_on_the_cpu" theme="device"
# A tensor was made on the CPU, although model and batches lie on a GPU, and torch refuses to mix the two. A total
#     that begins as the number `0.0` needs no device.
# Какой-то тензор создан на CPU, хотя модель и батчи лежат на GPU, и torch отказывается их смешивать. Сумме,
#     которая начинается с числа `0.0`, устройство не нужно.
def mean_and_worst(model, batches):
    total, worst = torch.zeros(1, dtype=torch.float64), None
    for x, y in batches:
        loss = mse_loss(model(x), y)
        total += loss.detach()
        if worst is None or loss.item() > worst.item():
            worst = loss
    return total.item() / len(batches), worst
