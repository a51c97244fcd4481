"""Mistakes of the exercise `step_in_half`, as programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from .step_in_half import SCALE, Optimizer, Scaler, step_in_half


def _loss(model: Any, x: Tensor, y: Tensor, dtype: torch.dtype) -> Tensor:
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        return mse_loss(model(x), y)


def _scaled_step(model: Any, optimizer: Optimizer, scaler: Scaler, loss: Tensor) -> float:
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@step_in_half.mistake(
    en="All is computed in float32. The step is right, but there is nothing in half precision.",
    ru="Всё вычислено в float32. Шаг верен, но половинной точности нигде нет.",
)
def all_in_float32(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float32))


@step_in_half.mistake(
    en="The layers compute in bfloat16. It has the range of float32 and needs no scaler, but 8 digits instead of 11.",
    ru="Слои вычисляют в bfloat16. У него диапазон float32, и масштаб не нужен, но двоичных знаков 8 вместо 11.",
)
def in_bfloat16(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.bfloat16))


@step_in_half.mistake(
    en="The scaler is not used. Small gradients lose their digits in float16, and a step with infinite ones is made.",
    ru="Масштабирования нет. Малые градиенты теряют знаки в float16, а шаг с бесконечными всё-таки делается.",
)
def without_scaler(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    loss.backward()
    o.step()
    return loss.item()


@step_in_half.mistake(
    en="The optimizer steps by itself, with gradients that are still multiplied by the scale. `scaler.step(optimizer)` "
    "divides them first.",
    ru="Оптимизатор делает шаг сам, с градиентами, которые ещё умножены на масштаб. Вызов `scaler.step(optimizer)` сначала "
    "их делит.",
)
def steps_past_the_scaler(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    o.step()
    return loss.item()


@step_in_half.mistake(
    en="`scaler.update()` is missing: after infinite gradients the scale stays as it is.",
    ru="Нет вызова `scaler.update()`: после бесконечных градиентов масштаб остаётся прежним.",
)
def never_updates(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    s.step(o)
    return loss.item()


@step_in_half.mistake(
    en="The weights are still in float16, so their gradients are, too, and the scaler refuses them.",
    ru="Веса по-прежнему в float16, поэтому и градиенты в float16, и снять с них масштаб нельзя.",
)
def half_weights(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    model.half()
    return _scaled_step(model, o, s, mse_loss(model(x.half()), y.half()).float())


@step_in_half.mistake(
    en="The weights go to float16 and back. The gradients pass the scaler then, but every weight was rounded: what a small "
    "step adds is lost the next time.",
    ru="Веса переведены в float16 и обратно. Градиенты теперь проходят, но каждый вес округлён: то, что прибавит маленький "
    "шаг, в следующий раз потеряется.",
)
def there_and_back(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    model.float()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The gradients are to become float32 while the weights are float16. A `.grad` has the dtype of its tensor.",
    ru="Градиенты переводятся в float32, а веса остались в float16. Но у `.grad` такой же тип, как у самого тензора.",
)
def casts_the_gradients(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad = p.grad.float()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The old gradients are still in `.grad`: nothing clears them before the backward pass.",
    ru="В `.grad` остались старые градиенты: перед обратным проходом их ничто не обнуляет.",
)
def never_clears(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    s.scale(loss).backward()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The scaled loss is returned.",
    ru="Возвращено значение функции потерь, умноженное на масштаб.",
)
def returns_the_scaled_loss(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float16)) * SCALE


@step_in_half.mistake(
    en="`scaler.update()` is called without a `scaler.step(optimizer)` before it. The gradients have not been searched for "
    "infinities, and it raises.",
    ru="Перед `scaler.update()` нет вызова `scaler.step(optimizer)`. Градиенты не проверены на бесконечность, и возникает "
    "исключение.",
)
def updates_without_a_step(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    o.step()
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The `scaler` that was passed is not used: the program works with one of its own.",
    ru="Переданный `scaler` не используется: программа работает с собственным.",
)
def scaler_of_its_own(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, Scaler("cpu"), _loss(model, x, y, torch.float16))


@step_in_half.mistake(
    en="Infinite gradients were replaced by numbers, so a step is made with them. Such a step is to be left out.",
    ru="Бесконечные градиенты заменены числами, и шаг с ними делается. А его нужно было пропустить.",
)
def replaces_the_infinite(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad.nan_to_num_()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The loss is returned as a tensor. `.item()` makes a number of it.",
    ru="Значение функции потерь возвращено как тензор: число из него делает `.item()`.",
)
def returns_a_tensor(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> Tensor:
    loss = _loss(model, x, y, torch.float16)
    _scaled_step(model, o, s, loss)
    return loss.detach()


@step_in_half.mistake(
    en="The loss is computed in float16: where float32 has a number, it is infinite.",
    ru="Функция потерь вычислена в float16: там, где в float32 получается число, она бесконечна.",
)
def loss_in_half(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    with torch.autocast("cpu", dtype=torch.float16):
        prediction = model(x)
    return _scaled_step(model, o, s, mse_loss(prediction.half(), y.half()))


@step_in_half.mistake(
    en="There is no gradient in `.grad` when `scaler.step(optimizer)` looks for infinities, and it raises. Is `zero_grad()` "
    "called after `backward()`, or was a copy of the model trained?",
    ru="Когда `scaler.step(optimizer)` ищет бесконечности, в `.grad` нет градиентов, и возникает исключение. Не вызван ли "
    "`zero_grad()` после `backward()`, не обучалась ли копия модели?",
)
def clears_too_late(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    s.scale(loss).backward()
    o.zero_grad()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The scale is removed by `unscale_`, but then `optimizer.step()` makes the step in any case, also with infinite "
    "gradients. `scaler.step(optimizer)` leaves it out.",
    ru="Метод `unscale_` снимает масштаб, но потом `optimizer.step()` делает шаг в любом случае, даже с бесконечными "
    "градиентами. А `scaler.step(optimizer)` его пропускает.",
)
def steps_in_any_case(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    s.unscale_(o)
    o.step()
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The loss is not multiplied by the scale, but `scaler.step(optimizer)` divides the gradients by it.",
    ru="Функция потерь не умножена на масштаб, а `scaler.step(optimizer)` делит градиенты на него.",
)
def divides_only(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    loss.backward()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The squared errors are summed. The loss is `mse_loss`, their mean.",
    ru="Квадраты ошибок сложены. Функция потерь — `mse_loss`, их среднее.",
)
def sums_the_errors(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float16) * y.numel())
