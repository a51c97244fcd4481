"""Exercise: clip the gradient once per optimizer step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.labels import WEIGHTS_AFTER_STEPS
from autograder.language import Text
from autograder.measure import passes_to, weights_after_steps

from .common import (
    Batches,
    adam,
    affine,
    alternating_batches,
    directions,
    mean_gradient_norm,
    mean_gradient_norms,
    sgd,
    with_old_gradients,
)


@exercise(
    title=Text("Clip once per window", "Отсечение один раз за окно"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "weights",
            2,
            en="The step uses the window's whole gradient, shortened to `max_norm` only if it is longer.",
            ru="Шаг делается по градиенту всего окна, который укорочен до `max_norm`, только если был длиннее.",
            entries=(WEIGHTS_AFTER_STEPS,),
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
        Text.same(
            "optimizer.zero_grad()\nfor x, y in batches:\n    ...\ntorch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n..."
        ),
    ],
)
def clip_once(answer: Any, case: Case) -> dict[str, object]:
    with weights_after_steps(case.optimizer) as weights, passes_to(case.model.weight) as passes:
        answer.clip_once(case.model, case.optimizer, case.batches, case.max_norm)
    return {"weights": weights, "backward_runs": directions(passes)}


def _drawn(rng: torch.Generator, outputs: int, *sizes: int) -> tuple[torch.nn.Linear, Batches]:
    """Draw a model and batches until no parameter's gradient is short by chance.

    A short one needs no clipping.
    """
    while True:
        model, batches = affine(rng, outputs), alternating_batches(rng, *sizes, outputs=outputs)
        norms = mean_gradient_norms(model, batches)
        if min(norms) > 0.06 * max(norms):
            return model, batches


@clip_once.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor, outputs in ((0.05, 1), (20.0, 2)):  # below the norm of the mean, and far above that of the sum
        model, batches = _drawn(rng, outputs, 4, 4, 4)
        max_norm = factor * mean_gradient_norm(model, batches)
        yield Case(model=model, optimizer=with_old_gradients(sgd(model)), batches=batches, max_norm=max_norm)
    model, batches = _drawn(rng, 1, 4, 4)
    max_norm = 0.5 * mean_gradient_norm(model, batches)
    yield Case(model=model, optimizer=with_old_gradients(adam(model)), batches=batches, max_norm=max_norm)
