"""Extra exercise: clip gradients of a scaled loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
from autograder.measure import weights_after_steps

from .accumulate_equal import accumulate_equal
from .clip_once import clip_once
from .common import (
    Batches,
    accumulate_window,
    adam,
    affine,
    alternating_batches,
    mean_gradient_norm,
    sgd,
    with_old_gradients,
)


class CountingScaler(torch.amp.GradScaler):
    """A `GradScaler` for the CPU that counts its steps and updates."""

    def __init__(self) -> None:
        super().__init__("cpu", init_scale=2.0**16)
        self.steps, self.updates = 0, 0

    def __repr__(self) -> str:
        return "GradScaler with scale 65536"

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> float | None:
        self.steps += 1
        return super().step(optimizer, *args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        self.updates += 1
        super().update(new_scale)


@exercise(
    title=Text("Clipping under a loss scale", "Отсечение при масштабировании"),
    kind="complete",
    difficulty=3,
    minutes=10,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step is the one you would make without a scale: `max_norm` is compared with the true gradient.",
            ru="Шаг такой же, как без масштаба: с `max_norm` сравнивается настоящий градиент.",
        ),
        aspect(
            "calls",
            1,
            en="`scaler.step` and `scaler.update` are called once each: they skip bad steps and adapt the scale.",
            ru="`scaler.step` и `scaler.update` вызываются по одному разу: они пропускают шаги с бесконечными "
            "градиентами и меняют масштаб.",
        ),
    ],
    hints=[
        Text(
            "After `scaler.scale(loss).backward()`, what is the norm of `.grad` compared with the true one?",
            "Во сколько раз норма `.grad` после `scaler.scale(loss).backward()` больше настоящей?",
        ),
        Text(
            "`unscale_` divides by the scale in place. It belongs after the last backward of the window and before "
            "clipping.",
            "Метод `unscale_` делит градиенты на масштаб на месте. Вызывать его нужно после последнего обратного "
            "прохода окна и до отсечения.",
        ),
        Text(
            "...  # accumulate scaled losses\nscaler.unscale_(optimizer)\n...  # clip\nscaler.step(optimizer)\nscaler.update()",
            "...  # накопить\nscaler.unscale_(optimizer)\n...  # отсечь\nscaler.step(optimizer)\nscaler.update()",
        ),
    ],
)
def unscale_then_clip(answer: Any, case: Case) -> dict[str, object]:
    before = case.model.weight.detach().clone()
    with weights_after_steps(case.optimizer) as weights:
        answer.unscale_then_clip(case.model, case.optimizer, case.scaler, case.batches, case.max_norm)
    # A step that is 65536 times too short leaves weights that agree to six digits. Their change differs.
    return {"weights": weights, "calls": [case.scaler.steps, case.scaler.updates], "moved": before - case.model.weight}


@unscale_then_clip.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor, outputs in ((0.5, 1), (4.0, 2)):
        model, batches = affine(rng, outputs), alternating_batches(rng, 3, 3, 3, outputs=outputs)
        max_norm = factor * mean_gradient_norm(model, batches)
        optimizer, scaler = with_old_gradients(sgd(model)), CountingScaler()
        yield Case(model=model, optimizer=optimizer, scaler=scaler, batches=batches, max_norm=max_norm)
    model, batches = affine(rng), alternating_batches(rng, 3, 3)
    max_norm = 0.5 * mean_gradient_norm(model, batches)
    optimizer, scaler = with_old_gradients(adam(model)), CountingScaler()
    yield Case(model=model, optimizer=optimizer, scaler=scaler, batches=batches, max_norm=max_norm)


def _accumulate_scaled(model: Any, optimizer: Any, scaler: Any, batches: Batches) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()


@unscale_then_clip.mistake(
    en="The gradient is clipped while it is still scaled: 65536 times too long, it is always cut.",
    ru="Градиент отсекается ещё масштабированным: он в 65 536 раз длиннее и укорачивается всегда.",
)
def clips_the_scaled(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="`unscale_` runs more than once, for example in the loop. It may be called once between two updates.",
    ru="Метод `unscale_` вызывается больше одного раза, например в цикле. Между двумя обновлениями его можно вызвать "
    "только один раз.",
)
def unscales_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="The scaled gradient reached the optimizer: the step is 65536 times too long, or clipped.",
    ru="До оптимизатора дошёл масштабированный градиент: шаг в 65 536 раз длиннее нужного или отсечён.",
)
def never_unscales(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


@unscale_then_clip.mistake(
    en="`unscale_` ran although no loss had been scaled: `scaler.scale(loss)` is missing, or comes later.",
    ru="Метод `unscale_` вызван, хотя масштабирования ещё не было: `scaler.scale(loss)` пропущен или вызван позже.",
)
def never_scales(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="`scaler.update()` ran before anything was unscaled: in the loop, or after a plain `optimizer.step()`. It ends "
    "a window.",
    ru="`scaler.update()` вызван до снятия масштаба: в цикле или после простого `optimizer.step()`. Им завершается "
    "окно.",
)
def updates_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.update()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)


@unscale_then_clip.mistake(
    en="`scaler.update()` is missing: the window ends with it.",
    ru="Пропущен вызов `scaler.update()`: им завершается окно.",
)
def never_updates(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)


@unscale_then_clip.mistake(
    en="The step was made by `optimizer.step()`: only `scaler.step(optimizer)` skips steps with infinite gradients.",
    ru="Шаг сделан вызовом `optimizer.step()`: только `scaler.step(optimizer)` пропускает шаги с бесконечными "
    "градиентами.",
)
def steps_without_the_scaler(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()


@unscale_then_clip.mistake(*clip_once.mistakes["clips_after_the_step"].says)
def never_clips(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(*clip_once.mistakes["clips_the_sum"].says)
def clips_the_unscaled_sum(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(*clip_once.mistakes["clips_with_the_old_gradient"].says)
def unscales_the_old_gradient(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="The gradient was divided by the scale by hand and then once more by `scaler.step`: it is 65536 times too "
    "short.",
    ru="Градиент разделён на масштаб вручную, а потом ещё раз в `scaler.step`: он в 65 536 раз короче нужного.",
)
def unscales_by_hand_too(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    _accumulate_scaled(model, optimizer, scaler, batches)
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(*accumulate_equal.mistakes["divides_by_rows"].says)
def divides_the_scaled_by_rows(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y, reduction="sum") / rows).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


@unscale_then_clip.mistake(
    en="`scaler.update()` ran although no loss had been scaled: `scaler.scale(loss)` is missing.",
    ru="Метод `scaler.update()` вызван, хотя масштабирования не было: пропущен вызов `scaler.scale(loss)`.",
)
def updates_without_a_scale(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()


@unscale_then_clip.mistake(
    en="`unscale_` and `scaler.update()` run in the loop: each time, what was there before is divided by the scale "
    "again. Both belong once, after the loop.",
    ru="Методы `unscale_` и `scaler.update()` вызываются в цикле: каждый раз накопленное раньше снова делится на "
    "масштаб. Оба вызова нужны по одному разу, после цикла.",
)
def unscales_and_updates_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.unscale_(optimizer)
        scaler.update()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
