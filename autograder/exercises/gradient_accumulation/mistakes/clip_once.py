# %%
import torch
from torch.nn.functional import mse_loss

from .common import accumulate_window, clearing_gradients


# %% mistake="clips_each" theme="order"
# The gradient is clipped after every micro-batch: what was cut off early is missing from the gradient of the
#     window.
# Градиент отсекается после каждого микробатча: того, что отсечено раньше, в градиенте окна уже нет.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches, lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm))
    optimizer.step()

# %% mistake="clips_after_the_step" theme="order"
# The step uses a gradient that was not clipped: clipping stands too early, too late, or nowhere.
# Шаг сделан по неотсечённому градиенту: отсечение стоит слишком рано, слишком поздно или его нет.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

# %% mistake="clips_the_first_group" theme="missing"
# Only the first group of the optimizer's parameters was clipped, `optimizer.param_groups[0]`. There may be several,
#     and the norm is over all parameters.
# Отсечён градиент только первой группы параметров, `optimizer.param_groups[0]`. Групп может быть несколько, а норма
#     берётся по всем параметрам.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], max_norm)
    optimizer.step()

# %% mistake="clips_by_value" theme="own"
# Every entry is clipped by value. That turns the gradient; clipping by norm only shortens it.
# Каждая компонента отсекается по значению. Это меняет направление градиента, а отсечение по норме меняет только
#     длину.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="clips_each_parameter" theme="own"
# Parameters are clipped one by one, or only one of them is. The norm is that of all of them together.
# Параметры отсекаются по одному, или отсекается только один. Норму нужно брать по всем вместе.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    for parameter in model.parameters():
        torch.nn.utils.clip_grad_norm_(parameter, max_norm)
    optimizer.step()

# %% mistake="clips_only_the_last" theme="accumulation"
# The gradients are zeroed inside the loop, so only the last micro-batch is left.
# Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(clearing_gradients(model), optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="always_rescales" theme="scaling"
# The step is made with a gradient of length `max_norm`, although the right one is shorter. So it is when it is
#     always scaled to that length, or when it was too long before.
# Шаг сделан по градиенту длины `max_norm`, хотя верный градиент короче. Так бывает, когда его всегда приводят к
#     этой длине или когда до отсечения он был слишком длинным.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= max_norm / (norm + 1e-6)
    optimizer.step()

# %% mistake="clips_the_sum" theme="scaling"
# The sum of the gradients is clipped, not their mean: the division by K is missing.
# Отсекается сумма градиентов, а не среднее: не хватает деления на K.
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="clips_the_loss" theme="derivative"
# The loss was clipped, not its gradient: where `clamp` cuts the loss, the gradient is zero.
# Ограничено значение функции потерь, а не градиент: там, где `clamp` его обрезает, градиент равен нулю.
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).clamp(max=max_norm).backward()
    optimizer.step()

# %% mistake="lowers_the_rate_instead" theme="missing"
# The gradient was not clipped; the learning rate was lowered instead. That works for plain SGD only.
# Градиент не отсечён, вместо этого уменьшена скорость обучения. Такой приём верен только для простого SGD.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
    for group in optimizer.param_groups:
        group["lr"] *= min(1.0, max_norm / norm)
    optimizer.step()

# %% mistake="divides_by_rows_and_clips" theme="scaling"
# The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there
#     are twice as many entries.
# Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов
#     вдвое больше.
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / rows).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="clips_with_the_old_gradient" theme="accumulation"
# The gradient that was there before stayed in the sum. It has to be cleared before the loop.
# В сумме остался прежний градиент. Его нужно обнулить до цикла.
def clip_once(model, optimizer, batches, max_norm):
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="clips_before_the_division" theme="order"
# The sum was clipped first and divided by K afterwards: the mean has to be clipped.
# Сначала отсечена сумма, и лишь потом она разделена на K: отсекать нужно среднее.
def clip_once(model, optimizer, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    for p in model.parameters():
        p.grad /= len(batches)
    optimizer.step()

# %% mistake="steps_in_the_loop" theme="order"
# The optimizer steps inside the loop, after every micro-batch: the window has to make one step.
# Шаг оптимизатора делается внутри цикла, после каждого микробатча, а в окне должен быть один шаг.
def clip_once(model, optimizer, batches, max_norm):
    def clip_and_step():
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()

    accumulate_window(model, optimizer, batches, clip_and_step)

# %% mistake="clips_the_largest_entry" theme="own"
# The largest entry was limited to `max_norm`, not the Euclidean norm.
# Числом `max_norm` ограничена наибольшая компонента, а не евклидова норма.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=torch.inf)
    optimizer.step()

# %% mistake="clips_the_sum_of_magnitudes" theme="own"
# The sum of the magnitudes was limited to `max_norm` (`norm_type=1`), not the Euclidean norm.
# Числом `max_norm` ограничена сумма модулей (`norm_type=1`), а не евклидова норма.
def clip_once(model, optimizer, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1)
    optimizer.step()
