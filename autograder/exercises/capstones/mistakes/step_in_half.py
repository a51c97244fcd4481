# %%
import torch
from torch.nn.functional import mse_loss

from ..step_in_half import SCALE, Scaler


def _loss(model, x, y, dtype):
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        return mse_loss(model(x), y)


def _scaled_step(model, optimizer, scaler, loss):
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()

# %% mistake="all_in_float32" theme="precision" plain="yes"
# All is computed in float32. The step is right, but there is nothing in half precision.
# Всё вычислено в float32. Шаг верен, но половинной точности нигде нет.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float32))

# %% mistake="in_bfloat16" theme="precision"
# The layers compute in bfloat16. It has the range of float32 and needs no scaler, but 8 digits instead of 11.
# Слои работают в bfloat16. Диапазон у него такой же, как у float32, и масштаб не нужен, но двоичных знаков 8 вместо 11.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, s, _loss(model, x, y, torch.bfloat16))

# %% mistake="without_scaler" theme="missing"
# The scaler is not used. Small gradients lose their digits in float16, and a step with infinite ones is made.
# Масштабирования нет. Малые градиенты теряют знаки в float16, а если градиенты бесконечны, шаг всё равно делается.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    loss.backward()
    o.step()
    return loss.item()

# %% mistake="steps_past_the_scaler" theme="scaling"
# The optimizer steps by itself, with gradients that are still multiplied by the scale. `scaler.step(optimizer)`
#     divides them first.
# Оптимизатор делает шаг сам, с градиентами, которые ещё умножены на масштаб. Вызов `scaler.step(optimizer)` сначала
#     их делит.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    o.step()
    return loss.item()

# %% mistake="never_updates" theme="missing"
# `scaler.update()` is missing: after infinite gradients the scale stays as it is.
# Нет вызова `scaler.update()`: после бесконечных градиентов масштаб остаётся прежним.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    s.step(o)
    return loss.item()

# %% mistake="half_weights" theme="precision"
# The weights are still in float16, so their gradients are, too, and the scaler refuses them.
# Веса по-прежнему в float16, поэтому и градиенты в float16, и снять с них масштаб нельзя.
def step_in_half(model, o, s, x, y):
    model.half()
    return _scaled_step(model, o, s, mse_loss(model(x.half()), y.half()).float())

# %% mistake="there_and_back" theme="precision"
# The weights go to float16 and back. The gradients pass the scaler then, but every weight was rounded: what a small
#     step adds is lost the next time.
# Веса переведены в float16 и обратно. Градиенты теперь проходят, но каждый вес округлён: то, что прибавит маленький
#     шаг, в следующий раз потеряется.
def step_in_half(model, o, s, x, y):
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    model.float()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="casts_the_gradients" theme="precision"
# The gradients are to become float32 while the weights are float16. A `.grad` has the dtype of its tensor.
# Градиенты переводятся в float32, а веса остались в float16. Но у `.grad` такой же тип, как у самого тензора.
def step_in_half(model, o, s, x, y):
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad = p.grad.float()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="never_clears" theme="accumulation"
# The old gradients are still in `.grad`: nothing clears them before the backward pass.
# В `.grad` остались старые градиенты: перед обратным проходом их ничто не обнуляет.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    s.scale(loss).backward()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="returns_the_scaled_loss" theme="scaling"
# The scaled loss is returned.
# Возвращено значение функции потерь, умноженное на масштаб.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float16)) * SCALE

# %% mistake="updates_without_a_step" theme="missing"
# `scaler.update()` is called without a `scaler.step(optimizer)` before it. The gradients have not been searched for
#     infinities, and it raises.
# Перед `scaler.update()` нет вызова `scaler.step(optimizer)`. Градиенты не проверены на бесконечность, и возникает
#     исключение.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    o.step()
    s.update()
    return loss.item()

# %% mistake="scaler_of_its_own" theme="missing"
# The `scaler` that was passed is not used: the program has one of its own, or none.
# Переданный `scaler` не используется: программа работает с собственным или вовсе без него.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, Scaler("cpu"), _loss(model, x, y, torch.float16))

# %% mistake="replaces_the_infinite" theme="precision"
# Infinite gradients were replaced by numbers, so a step is made with them. Such a step is to be left out.
# Бесконечные градиенты заменены конечными числами, и шаг сделан. А его нужно было пропустить.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad.nan_to_num_()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="returns_a_tensor" theme="missing"
# The loss is returned as a tensor. `.item()` makes a number of it.
# Значение функции потерь возвращено как тензор: число из него делает `.item()`.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    _scaled_step(model, o, s, loss)
    return loss.detach()

# %% mistake="loss_in_half" theme="precision"
# The loss is computed in float16: where float32 has a number, it is infinite.
# Функция потерь вычислена в float16: там, где в float32 получается число, она бесконечна.
def step_in_half(model, o, s, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        prediction = model(x)
    return _scaled_step(model, o, s, mse_loss(prediction.half(), y.half()))

# %% mistake="clears_too_late" theme="order"
# There is no gradient in `.grad` when `scaler.step(optimizer)` looks for infinities, and it raises. Is
#     `zero_grad()` called after `backward()`, or was a copy of the model trained?
# Когда `scaler.step(optimizer)` ищет бесконечности, в `.grad` нет градиентов, и возникает исключение. Не вызван ли
#     `zero_grad()` после `backward()`, не обучалась ли копия модели?
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    s.scale(loss).backward()
    o.zero_grad()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="steps_in_any_case" theme="missing"
# The scale is removed by `unscale_`, but then `optimizer.step()` makes the step in any case, also with infinite
#     gradients. `scaler.step(optimizer)` leaves it out.
# Метод `unscale_` снимает масштаб, но потом `optimizer.step()` делает шаг в любом случае, даже с бесконечными
#     градиентами. А `scaler.step(optimizer)` такой шаг пропускает.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    s.unscale_(o)
    o.step()
    s.update()
    return loss.item()

# %% mistake="divides_only" theme="scaling"
# The loss is not multiplied by the scale, but `scaler.step(optimizer)` divides the gradients by it.
# Функция потерь не умножена на масштаб, а `scaler.step(optimizer)` делит градиенты на него.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    loss.backward()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="sums_the_errors" theme="scaling"
# The squared errors are summed. The loss is `mse_loss`, their mean.
# Квадраты ошибок сложены. Функция потерь — `mse_loss`, их среднее.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float16) * y.numel())

# %% mistake="unscales_twice" theme="scaling"
# The gradients are divided by the scale twice: by hand, and once more in `scaler.step`.
# Градиенты делятся на масштаб дважды: вручную и ещё раз в `scaler.step`.
def step_in_half(model, o, s, x, y):
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad /= s.get_scale()
    s.step(o)
    s.update()
    return loss.item()

# %% mistake="rounds_the_targets" theme="precision"
# The targets are rounded to float16, too: where they are close to the results, the difference is lost. The loss is
#     computed in float32, and `y` stays as it is.
# Целевые значения тоже округлены до float16: если они близки к результатам, разность теряется. Функция потерь
#     вычисляется во float32, и `y` менять не нужно.
def step_in_half(model, o, s, x, y):
    return _scaled_step(model, o, s, _loss(model, x, y.half(), torch.float16))
