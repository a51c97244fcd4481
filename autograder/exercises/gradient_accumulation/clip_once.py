"""Extra exercise: clip the gradient once per optimizer step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
from autograder.measure import weights_after_steps

from .common import (
    Batches,
    accumulate_window,
    affine,
    alternating_batches,
    clearing_gradients,
    mean_gradient_norm,
    sgd,
    with_old_gradients,
)


@exercise(
    title=Text("Clip once per window", "Отсечение один раз за окно"),
    kind="complete",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step uses the window's whole gradient, shortened to `max_norm` only if it is longer.",
            ru="Шаг использует весь градиент окна, укороченный до `max_norm`, только если он длиннее.",
        )
    ],
    hints=[
        Text(
            "The norm of which gradient should stay below `max_norm`: a micro-batch's or the window's?",
            "Норма какого градиента должна не превышать `max_norm`: микробатча или окна?",
        ),
        Text(
            "Accumulate as before. `torch.nn.utils.clip_grad_norm_` has one right place, and it is not in the loop.",
            "Накопите градиент как раньше. У `torch.nn.utils.clip_grad_norm_` одно верное место, и оно не в цикле.",
        ),
        Text(
            "optimizer.zero_grad()\nfor x, y in batches:\n    ...\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n...",
            "optimizer.zero_grad()\nfor x, y in batches:\n    ...\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n...",
        ),
    ],
)
def clip_once(answer: Any, case: Case) -> dict[str, object]:
    with weights_after_steps(case.optimizer) as weights:
        answer.clip_once(case.model, case.optimizer, case.batches, case.max_norm)
    return {"weights": weights}


@clip_once.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor in (0.5, 4.0):  # below the norm of the mean, and above that of the sum
        model, batches = affine(rng), alternating_batches(rng, 4, 4, 4)
        max_norm = factor * mean_gradient_norm(model, batches)
        yield Case(model=model, optimizer=with_old_gradients(sgd(model)), batches=batches, max_norm=max_norm)


@clip_once.mistake(
    en="The gradient is clipped after every micro-batch: what was cut off early is missing from the gradient of the "
    "window.",
    ru="Градиент отсекается после каждого микробатча: того, что отсечено раньше, в градиенте окна уже нет.",
)
def clips_each(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches, lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm))
    optimizer.step()


@clip_once.mistake(
    en="The step uses a gradient that was not clipped: clipping stands too early, too late, or nowhere.",
    ru="Шаг сделан по неотсечённому градиенту: отсечение стоит слишком рано, слишком поздно или его нет.",
)
def clips_after_the_step(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


@clip_once.mistake(
    en="Every entry is clipped by value. That turns the gradient; clipping by norm only shortens it.",
    ru="Каждая компонента отсекается по значению. Это меняет направление градиента, а отсечение по норме меняет только "
    "длину.",
)
def clips_by_value(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="Parameters are clipped one by one, or only one of them is. The norm is that of all of them together.",
    ru="Параметры отсекаются по одному, или отсекается только один. Норму нужно брать по всем вместе.",
)
def clips_each_parameter(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    for parameter in model.parameters():
        torch.nn.utils.clip_grad_norm_(parameter, max_norm)
    optimizer.step()


@clip_once.mistake(
    en="The gradients are zeroed inside the loop, so only the last micro-batch is left.",
    ru="Градиенты обнуляются внутри цикла, поэтому остаётся только последний микробатч.",
)
def clips_only_the_last(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(clearing_gradients(model), optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="The gradient is always scaled to `max_norm`, even when it is shorter.",
    ru="Градиент всегда приводится к длине `max_norm`, даже если он короче.",
)
def always_rescales(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= max_norm / (norm + 1e-6)
    optimizer.step()


@clip_once.mistake(
    en="The sum of the gradients is clipped, not their mean: the division by K is missing.",
    ru="Отсекается сумма градиентов, а не среднее: не хватает деления на K.",
)
def clips_the_sum(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
