"""Extra exercise: clip gradients of a scaled loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import Batches, accumulate_window, affine, alternating_batches, mean_gradient_norm, sgd, with_old_gradients


class FakeScaler:
    """A `torch.amp.GradScaler` with a fixed scale, for float64 on the CPU.

    The exercise only needs an object with the same methods in the same order.
    """

    def __init__(self) -> None:
        self.factor, self.unscaled, self.steps, self.updates = 2.0**16, False, 0, 0

    def __repr__(self) -> str:
        return "scaler with scale 65536"

    def scale(self, loss: Tensor) -> Tensor:
        return loss * self.factor

    def get_scale(self) -> float:
        return self.factor

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        if self.unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        self.unscaled = True
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(self.factor)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self.unscaled:
            self.unscale_(optimizer)
        self.steps += 1
        optimizer.step()

    def update(self) -> None:
        self.unscaled, self.updates = False, self.updates + 1


@exercise(
    title=Text("Clipping under a loss scale", "Отсечение при масштабировании функции потерь"),
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
            ru="`scaler.step` и `scaler.update` вызываются по одному разу: они пропускают плохие шаги и меняют "
            "масштаб.",
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
            "`unscale_` делит на масштаб на месте. Его место — после последнего обратного прохода окна и до отсечения.",
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
    for factor in (0.5, 3.0):
        model, batches = affine(rng), alternating_batches(rng, 3, 3)
        max_norm = factor * mean_gradient_norm(model, batches)
        optimizer, scaler = with_old_gradients(sgd(model)), FakeScaler()
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
    optimizer.step()
    scaler.update()


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
    en="`scaler.update()` ran before anything was unscaled: in the loop, or after a plain `optimizer.step()`. It ends a window.",
    ru="`scaler.update()` вызван до снятия масштаба: в цикле или после простого `optimizer.step()`. Им завершается окно.",
)
def updates_each(model: Any, optimizer: Any, scaler: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        scaler.scale(mse_loss(model(x), y) / len(batches)).backward()
        scaler.update()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
