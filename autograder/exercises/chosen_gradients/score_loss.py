"""Exercise: a score-function loss with a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

_LESS = 10  # a baseline must divide the variance at least by this


@exercise(
    title=Text("Samples that are compared with each other", "Выборка, в которой примеры сравнивают друг с другом"),
    kind="design",
    difficulty=3,
    aspects=[
        aspect(
            "mean",
            2,
            en="On the average over all samples the gradient of the logits is that of the expected loss.",
            ru="В среднем по всем выборкам градиент по логитам равен градиенту среднего значения функции потерь.",
        ),
        aspect(
            "through_losses",
            1,
            en="The gradient of what the losses themselves depend on is right on the average, too.",
            ru="В среднем верен и градиент по тому, от чего зависят сами потери.",
        ),
        aspect(
            "noise",
            2,
            en="The variance is at most a tenth of that without a baseline.",
            ru="Дисперсия не больше десятой части той, что получается без базового уровня.",
            measured=Text("Variance of the gradient", "Дисперсия градиента"),
        ),
    ],
    hints=[
        Text(
            "Which factor of a term of the sum must be a plain number, and what may be subtracted from it without a change "
            "of the mean?",
            "Какой множитель в слагаемом должен быть просто числом и что можно из него вычесть, не меняя среднего?",
        ),
        Text(
            "What is subtracted in term i must not depend on sample i. The losses of the other samples do not. And the "
            "losses have a gradient of their own, which is wanted, too.",
            "То, что вычитают в слагаемом i, не должно зависеть от примера i. Потери остальных примеров от него не "
            "зависят. Кроме того, у самих потерь есть свой градиент, и он тоже нужен.",
        ),
        Text.same(
            "others = (losses.sum() - losses) / ...\nadvantage = (losses - others).detach()\n"
            "return (log_probs * ... + ...).mean()"
        ),
    ],
    why=Why(
        Text(
            "Why subtract the mean of the other losses, and not that of all?",
            "Почему можно вычитать среднее остальных потерь, но нельзя среднее всех?",
        ),
        Text(
            "The score has mean 0, so it may be multiplied by anything that does not depend on its own sample. The mean of "
            "all holds that sample, and subtracts a part of the gradient.",
            "Среднее производной логарифма вероятности равно 0, поэтому множителем может быть всё, что не зависит от этого "
            "примера. Среднее всех потерь от него зависит, и вместе с ним вычитается часть градиента.",
        ),
    ),
)
def score_loss(answer: Any, case: Case) -> dict[str, object]:
    plain, found, weights = [], [], []
    for outcome in product(range(len(case.logits)), repeat=case.size):
        log_probs, losses = _sample(case, outcome)
        weights.append(log_probs.detach().sum().exp())
        plain.append(torch.autograd.grad((log_probs * losses.detach()).mean(), case.logits, retain_graph=True)[0])
        surrogate = answer.score_loss(log_probs, losses)
        with using_answer():
            found.append(_gradients(surrogate, case))
    with using_answer():
        mean, variance = _moments(weights, [one[0] for one in found])
        return {
            "mean": mean,
            "through_losses": _moments(weights, [one[1] for one in found])[0],
            "noise": AtMost(limit=(_moments(weights, plain)[1] / _LESS).item(), used=variance.item()),
            "variance": variance,
        }


def _sample(case: Case, outcome: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and losses of the samples `outcome`, with their graphs."""
    chosen = list(outcome)
    return case.logits.log_softmax(0)[chosen], case.costs[chosen] + case.w * case.slopes[chosen]


def _gradients(surrogate: Any, case: Case) -> tuple[Tensor, Tensor]:
    """Return the gradients of logits and `w`, zeros where there is no path."""
    if not surrogate.requires_grad:
        return torch.zeros_like(case.logits), torch.zeros_like(case.w)
    inputs = [each for each in (case.logits, case.w) if each.requires_grad]
    found = torch.autograd.grad(surrogate, inputs, retain_graph=True, materialize_grads=True)
    return found[0], found[1] if case.w.requires_grad else torch.zeros_like(case.w)


def _moments(weights: list[Tensor], gradients: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the mean gradient, and the sum of the variances of its entries."""
    shares, stacked = torch.stack(weights), torch.stack(gradients)
    mean = torch.tensordot(shares, stacked, dims=1)
    return mean, shares @ ((stacked - mean) ** 2).reshape(len(shares), -1).sum(1)


@score_loss.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for size, choices in ((3, 3), (2, 4)):
        logits = (0.5 * signed(rng, choices)).requires_grad_()
        yield _case(logits, size, costs=10 + 0.4 * signed(rng, choices), w=leaf(rng), slopes=0.1 * signed(rng, choices))
    logits = (0.5 * signed(rng, 2)).requires_grad_()
    yield _case(
        logits, 5, costs=-20 + 0.4 * signed(rng, 2), w=torch.ones((), dtype=torch.float64), slopes=0.4 * signed(rng, 2)
    )


def _case(logits: Tensor, size: int, **rest: Tensor) -> Case:
    """Return a case whose first two inputs are one of the samples that the probe tries."""
    case = Case(log_probs=None, losses=None, logits=logits, size=size, **rest)
    case.log_probs, case.losses = _sample(case, tuple(number % len(logits) for number in range(size)))
    return case
