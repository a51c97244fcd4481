"""Extra exercise: clip the gradient once per optimizer step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.language import Text
from autograder.measure import passes_to, weights_after_steps

from .accumulate_equal import accumulate_equal
from .common import (
    Batches,
    accumulate_window,
    adam,
    affine,
    alternating_batches,
    clearing_gradients,
    directions,
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
    with weights_after_steps(case.optimizer) as weights, passes_to(case.model.weight) as passes:
        answer.clip_once(case.model, case.optimizer, case.batches, case.max_norm)
    return {"weights": weights, "backward_runs": directions(passes)}


@clip_once.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor, outputs in ((0.5, 1), (4.0, 2)):  # below the norm of the mean, and above that of the sum
        model, batches = affine(rng, outputs), alternating_batches(rng, 4, 4, 4, outputs=outputs)
        max_norm = factor * mean_gradient_norm(model, batches)
        yield Case(model=model, optimizer=with_old_gradients(sgd(model)), batches=batches, max_norm=max_norm)
    model, batches = affine(rng), alternating_batches(rng, 4, 4)
    max_norm = 0.5 * mean_gradient_norm(model, batches)
    yield Case(model=model, optimizer=with_old_gradients(adam(model)), batches=batches, max_norm=max_norm)


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


@clip_once.mistake(
    en="The loss was clipped, not its gradient: where `clamp` cuts the loss, the gradient is zero.",
    ru="Ограничено значение функции потерь, а не градиент: там, где `clamp` его обрезает, градиент равен нулю.",
)
def clips_the_loss(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).clamp(max=max_norm).backward()
    optimizer.step()


@clip_once.mistake(
    en="The gradient was not clipped; the learning rate was lowered instead. That works for plain SGD only.",
    ru="Градиент не отсечён, вместо этого уменьшена скорость обучения. Такой приём верен только для простого SGD.",
)
def lowers_the_rate_instead(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
    for group in optimizer.param_groups:
        group["lr"] *= min(1.0, max_norm / norm)
    optimizer.step()


@clip_once.mistake(*accumulate_equal.mistakes["divides_by_rows"].says)
def divides_by_rows_and_clips(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    rows = sum(len(x) for x, _ in batches)
    for x, y in batches:
        (mse_loss(model(x), y, reduction="sum") / rows).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="The gradient that was there before stayed in the sum. It has to be cleared before the loop.",
    ru="В сумме остался прежний градиент. Его нужно обнулить до цикла.",
)
def clips_with_the_old_gradient(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


@clip_once.mistake(
    en="The sum was clipped first and divided by K afterwards: the mean has to be clipped.",
    ru="Сначала отсечена сумма, и лишь потом она разделена на K: отсекать нужно среднее.",
)
def clips_before_the_division(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    optimizer.zero_grad()
    for x, y in batches:
        mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    for p in model.parameters():
        p.grad /= len(batches)
    optimizer.step()


@clip_once.mistake(
    en="The optimizer steps inside the loop, after every micro-batch: the window has to make one step.",
    ru="Шаг оптимизатора делается внутри цикла, после каждого микробатча, а в окне должен быть один шаг.",
)
def steps_in_the_loop(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    def clip_and_step() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()

    accumulate_window(model, optimizer, batches, clip_and_step)


@clip_once.mistake(
    en="The largest entry was limited to `max_norm`, not the Euclidean norm.",
    ru="Числом `max_norm` ограничена наибольшая компонента, а не евклидова норма.",
)
def clips_the_largest_entry(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=torch.inf)
    optimizer.step()


@clip_once.mistake(
    en="The sum of the magnitudes was limited to `max_norm` (`norm_type=1`), not the Euclidean norm.",
    ru="Числом `max_norm` ограничена сумма модулей (`norm_type=1`), а не евклидова норма.",
)
def clips_the_sum_of_magnitudes(model: Any, optimizer: Any, batches: Batches, max_norm: float) -> None:
    accumulate_window(model, optimizer, batches)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1)
    optimizer.step()
