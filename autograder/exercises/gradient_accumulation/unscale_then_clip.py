"""Exercise: clip gradients of a scaled loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import WEIGHTS_AFTER_STEPS, Entries
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import adam, affine, alternating_batches, mean_gradient_norm, sgd, with_old_gradients


class CountingScaler(torch.amp.GradScaler):
    """A `GradScaler` for the CPU that counts its steps and updates."""

    def __init__(self, scale: int = 2**16) -> None:
        super().__init__("cpu", init_scale=float(scale))
        self.steps, self.updates = 0, 0

    def __repr__(self) -> str:
        return f"GradScaler with scale {self.get_scale():.0f}"

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> float | None:
        self.steps += 1
        return super().step(optimizer, *args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        self.updates += 1
        super().update(new_scale)


_CALLS = Entries(
    (
        Text("calls of `scaler.step`", "вызовов `scaler.step`"),
        Text("calls of `scaler.update`", "вызовов `scaler.update`"),
    ),
    Text("methods", "методов"),
)


@exercise(
    title=Text("Clipping under a loss scale", "Отсечение при масштабировании"),
    kind="complete",
    difficulty=3,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step is the one you would make without a scale: `max_norm` is compared with the true gradient.",
            ru="Шаг такой же, как без масштаба: с `max_norm` сравнивается настоящий градиент.",
            entries=(WEIGHTS_AFTER_STEPS,),
        ),
        aspect(
            "calls",
            1,
            en="`scaler.step` and `scaler.update` are called once each: they skip bad steps and adapt the scale.",
            ru="`scaler.step` и `scaler.update` вызываются по одному разу: они пропускают шаги с бесконечными "
            "градиентами и меняют масштаб.",
            entries=(_CALLS,),
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
    for factor, outputs, scale in ((0.05, 1, 2**16), (4.0, 2, 2**19)):
        model, batches = affine(rng, outputs), alternating_batches(rng, 3, 3, 3, outputs=outputs)
        max_norm = factor * mean_gradient_norm(model, batches)
        optimizer, scaler = with_old_gradients(sgd(model)), CountingScaler(scale)
        yield Case(model=model, optimizer=optimizer, scaler=scaler, batches=batches, max_norm=max_norm)
    model, batches = affine(rng), alternating_batches(rng, 3, 3)
    max_norm = 0.5 * mean_gradient_norm(model, batches)
    optimizer, scaler = with_old_gradients(adam(model)), CountingScaler()
    yield Case(model=model, optimizer=optimizer, scaler=scaler, batches=batches, max_norm=max_norm)
