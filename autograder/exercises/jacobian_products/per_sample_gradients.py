"""Exercise: the gradient for each sample of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import recording_products
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES, ERROR
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, limited_error, relative_error
from autograder.language import Text
from autograder.measure import CountedCalls, counting_backward_runs

from .common import EXACT, EXACT_ROWS


@exercise(
    title=Text("Gradients of single samples", "Градиенты по отдельным примерам"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="Row i is the gradient of the loss of sample i with respect to `w`: a tensor of shape (B, n).",
            ru="Строка i — градиент функции потерь на примере i по `w`; возвращается тензор формы (B, n).",
        ),
        aspect(
            "passes",
            2,
            en="Calls of `loss` and backward passes together are at most 3, for 6 samples.",
            ru="Вызовов `loss` и обратных проходов вместе не больше 3 при 6 примерах.",
            measured=CALLS_AND_PASSES,
        ),
        aspect(
            "exact",
            0.5,
            *EXACT_ROWS,
            measured=ERROR,
            after=("gradients", "passes"),
        ),
    ],
    hints=[
        Text(
            "Write the gradient for one sample as a function. Which of its three arguments have a batch dimension?",
            "Запишите градиент для одного примера как функцию. У каких из трёх аргументов есть измерение батча?",
        ),
        Text(
            "`torch.func.grad(loss)` differentiates with respect to argument 0. `in_dims` of `vmap` says `None` for "
            "what is shared.",
            "`torch.func.grad(loss)` дифференцирует по аргументу 0. В `in_dims` у `vmap` для общего аргумента ставят "
            "`None`.",
        ),
        Text.same(
            "def per_sample_gradients(loss, w, x, y):\n"
            "    gradient = torch.func.grad(...)\n"
            "    return torch.func.vmap(gradient, in_dims=...)(w, x, y)"
        ),
    ],
)
def per_sample_gradients(answer: Any, case: Case) -> dict[str, object]:
    counted = CountedCalls(case.loss)
    with counting_backward_runs() as runs, recording_products() as products:
        gradients = answer.per_sample_gradients(counted.function, case.w, case.x, case.y)
    # The loss has one product. Five are enough for 3 calls and passes; a walk along the nodes by hand is no pass.
    passes = max(counted.times + runs.times, 2 * len(products) // 3)
    inner = case.x @ case.w
    truth = (2 * (inner.sin() - case.y) * inner.cos())[:, None] * case.x
    with using_answer():
        exact = limited_error(EXACT, relative_error(truth, gradients))
    return {
        "gradients": gradients,
        "exact": exact,
        "passes": AtMost(limit=3, used=passes),
        "many_calls": counted.times >= len(case.x),
        "many_runs": runs.times >= len(case.x),
    }


def _sample_loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the loss of one sample.

    `w` are the weights, `x` is a row of features, `y` the target, one number.
    """
    return (torch.dot(x, w).sin() - y).square()


@per_sample_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for samples, features in [(6, 3), (6, 2)]:
        yield Case(
            loss=Formula("w, x, y -> (dot(x, w).sin() - y)**2", _sample_loss),
            w=uniform(rng, features),
            x=signed(rng, samples, features),
            y=signed(rng, samples),
        )
