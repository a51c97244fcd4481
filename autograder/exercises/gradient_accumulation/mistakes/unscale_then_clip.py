# %%
import torch
from torch.nn.functional import mse_loss

from .common import accumulate_window


def _accumulate_scaled(model, optimizer, scaler, batches):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()

# %% mistake="clips_the_scaled" theme="order"
# The gradient is clipped while it is still scaled: 65536 times too long, it is always cut.
# Градиент отсекается ещё масштабированным: он в 65 536 раз длиннее и укорачивается всегда.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="unscales_each" theme="order"
# `unscale_` runs more than once, for example in the loop. It may be called once between two updates.
# Метод `unscale_` вызывается больше одного раза, например в цикле. Между двумя обновлениями его можно вызвать
#     только один раз.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="never_unscales" theme="scaling"
# The scaled gradient reached the optimizer: the step is 65536 times too long, or clipped.
# До оптимизатора дошёл масштабированный градиент: шаг в 65 536 раз длиннее нужного или отсечён.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

# %% mistake="multiplies_by_k" theme="scaling"
# The gradient is too long before it is clipped, although it is unscaled. So it is when the loss is multiplied by K,
#     not divided.
# Перед отсечением градиент слишком длинный, хотя масштаб снят. Так бывает, когда функция потерь не разделена на K, а
#     умножена.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) * len(batches)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="never_scales" theme="missing"
# `unscale_` ran although no loss had been scaled: `scaler.scale(loss)` is missing, or comes later.
# Метод `unscale_` вызван, хотя масштабирования ещё не было: `scaler.scale(loss)` пропущен или вызван позже.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="updates_each" theme="order"
# `scaler.update()` ran before anything was unscaled: in the loop, or after a plain `optimizer.step()`. It ends a
#     window.
# `scaler.update()` вызван до снятия масштаба: в цикле или после простого `optimizer.step()`. Им завершается окно.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.update()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)

# %% mistake="never_updates" theme="missing"
# `scaler.update()` is missing: the window ends with it.
# Пропущен вызов `scaler.update()`: им завершается окно.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)

# %% mistake="steps_without_the_scaler" theme="missing"
# The step was made by `optimizer.step()`: only `scaler.step(optimizer)` skips steps with infinite gradients.
# Шаг сделан вызовом `optimizer.step()`: только `scaler.step(optimizer)` пропускает шаги с бесконечными градиентами.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()

# %% mistake="never_clips" theme="order"
# The step uses a gradient that was not clipped: clipping stands too early, too late, or nowhere.
# Шаг сделан по неотсечённому градиенту: отсечение стоит слишком рано, слишком поздно или его нет.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="clips_the_unscaled_sum" theme="scaling"
# The sum of the gradients is clipped, not their mean: the division by K is missing.
# Отсекается сумма градиентов, а не среднее: не хватает деления на K.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="unscales_the_old_gradient" theme="accumulation"
# The gradient that was there before stayed in the sum. It has to be cleared before the loop.
# В сумме остался прежний градиент. Его нужно обнулить до цикла.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="unscales_by_hand_too" theme="scaling"
# The step is next to nothing. So it is when the gradient is divided by the scale by hand and then once more by
#     `scaler.step`: it is then 65536 times too short.
# Шаг почти нулевой. Так бывает, когда градиент разделён на масштаб вручную, а потом ещё раз в `scaler.step`: тогда
#     он в 65 536 раз короче нужного.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="divides_the_scaled_by_rows" theme="scaling"
# The squared errors of all entries were summed, but divided by the number of rows. With two columns in `y` there
#     are twice as many entries.
# Сложены квадраты ошибок по всем элементам, а сумма разделена на число строк. Если в `y` два столбца, элементов
#     вдвое больше.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y, reduction="sum") / rows).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="updates_without_a_scale" theme="missing"
# `scaler.update()` ran although no loss had been scaled: `scaler.scale(loss)` is missing.
# Метод `scaler.update()` вызван, хотя масштабирования не было: пропущен вызов `scaler.scale(loss)`.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()

# %% mistake="unscales_and_updates_each" theme="order"
# `unscale_` and `scaler.update()` run in the loop: each time, what was there before is divided by the scale again.
#     Both belong once, after the loop.
# Методы `unscale_` и `scaler.update()` вызываются в цикле: каждый раз накопленное раньше снова делится на масштаб.
#     Оба вызова нужны по одному разу, после цикла.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.unscale_(optimizer)
        scaler.update()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()

# %% mistake="clips_each_parameter" theme="scaling"
# Each parameter's gradient is clipped by its own norm. Asked for is one norm over all parameters.
# Градиент каждого параметра отсекается по его собственной норме, а нужна одна норма по всем параметрам.
def unscale_then_clip(model, optimizer, scaler, batches, max_norm):
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.unscale_(optimizer)
    for parameter in model.parameters():
        torch.nn.utils.clip_grad_norm_(parameter, max_norm)
    scaler.step(optimizer)
    scaler.update()
