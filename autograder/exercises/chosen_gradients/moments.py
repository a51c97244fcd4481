"""Exercise: mean and variance of an estimator, by enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, signed, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import CountedCalls

_PARTS = ("mean", "variance")


@exercise(
    title=Text("Mean and variance without chance", "Среднее и дисперсия без случайностей"),
    kind="complete",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "mean",
            2,
            en="The first tensor is the mean of the gradient over all outcomes, each with its probability.",
            ru="Первый тензор — среднее градиента по всем исходам с их вероятностями.",
        ),
        aspect(
            "variance",
            1,
            en="The second tensor is the variance of each entry of the gradient.",
            ru="Второй тензор — дисперсия каждого элемента градиента.",
        ),
        aspect(
            "calls",
            0.5,
            en="Each outcome is computed once.",
            ru="Каждый исход вычислен один раз.",
            measured=Text("Calls of `surrogate`", "Вызовов `surrogate`"),
        ),
        aspect(
            "rest",
            0.5,
            en="`logits`, its flag and its `.grad` stay, and the result has no graph.",
            ru="Сам `logits`, его флаг и поле `.grad` прежние, и у результата нет графа.",
        ),
    ],
    hints=[
        Text(
            "How many outcomes do n bits have, and which probability has one of them?",
            "Сколько исходов у n битов и какова вероятность одного из них?",
        ),
        Text(
            "The probability is a weight of a gradient that is there already, a plain number. Multiply the gradient by "
            "it, not the surrogate loss.",
            "Вероятность — это вес уже готового градиента, просто число. Умножайте на неё градиент, а не суррогатную "
            "функцию.",
        ),
        Text(
            "for bits in product((0.0, 1.0), repeat=logits.numel()):\n    bits = torch.tensor(bits, ...).reshape(...)\n"
            "    weight = torch.where(bits == 1, p, 1 - p).prod()\n    (g,) = torch.autograd.grad(...)\n"
            "    ...  # weight, g and g squared\n",
            "for bits in product((0.0, 1.0), repeat=logits.numel()):\n    bits = torch.tensor(bits, ...).reshape(...)\n"
            "    weight = torch.where(bits == 1, p, 1 - p).prod()\n    (g,) = torch.autograd.grad(...)\n"
            "    ...\n",
        ),
    ],
    why=Why(
        Text(
            "Why must the probability of an outcome not be part of the graph here?",
            "Почему вероятность исхода здесь не должна входить в граф?",
        ),
        Text(
            "The mean is a sum of finished gradients, weighted by numbers. If the weights are differentiated as well, their "
            "own gradient joins in, and every estimator looks different from what it is.",
            "Среднее — сумма готовых градиентов с весами-числами. Если дифференцировать и веса, добавится их собственный "
            "градиент, и оценка покажется не такой, какова она на самом деле.",
        ),
    ),
)
def moments(answer: Any, case: Case) -> dict[str, object]:
    asked: Counter[str] = Counter()

    def surrogate(logits: Tensor, bits: Tensor) -> Tensor:
        value: Tensor = case.surrogate(logits, bits)
        asked[str(bits.tolist())] += 1
        return value

    calls = CountedCalls(surrogate)
    found = answer.moments(calls.function, case.logits)
    with using_answer():
        pair = list(found) if isinstance(found, (tuple, list)) else []
        parts = dict(zip(_PARTS, pair)) if len(pair) == len(_PARTS) else {}
        graph = [isinstance(part, Tensor) and part.requires_grad for part in pair]
        calls_used = AtMost(limit=2 ** case.logits.numel(), used=calls.times)
        sampled = not calls_used.kept and len({*asked.values()}) > 1  # each sampling gives another mean
        return {
            "mean": "mean of samples" if sampled else parts.get("mean"),
            "variance": parts.get("variance"),
            "calls": calls_used,
            "rest": {
                "logits.grad": case.logits.grad,
                "logits require grad": case.logits.requires_grad,
                "results require grad": any(graph),
            },
        }


def _straight_through(loss: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def surrogate(logits: Tensor, bits: Tensor) -> Tensor:
        p = logits.sigmoid()
        return loss(bits + p - p.detach())

    return surrogate


def _score(loss: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def surrogate(logits: Tensor, bits: Tensor) -> Tensor:
        signs = 2 * bits - 1
        return loss(bits).detach() * (signs * logits).sigmoid().log().sum()

    return surrogate


@moments.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    weights = signed(rng, 2)
    surrogate = _straight_through(lambda bits: ((bits * weights).sum() - 0.3) ** 2)
    logits = with_old_gradient((0.5 * signed(rng, 2)).requires_grad_())
    yield Case(surrogate=Formula("straight-through, ((bits * w).sum() - 0.3) ** 2", surrogate), logits=logits)
    table = signed(rng, 2, 2)
    surrogate = _score(lambda bits: ((bits @ table) ** 2).sum() + bits.prod())
    logits = (0.5 * signed(rng, 2, 2)).requires_grad_()
    yield Case(surrogate=Formula("score function, ((bits @ table) ** 2).sum() + bits.prod()", surrogate), logits=logits)
    scale = signed(rng)
    logits = (0.5 * signed(rng)).requires_grad_()
    surrogate = _score(lambda bits: scale * (bits + 2))
    yield Case(surrogate=Formula("score function, scale * (bits + 2)", surrogate), logits=logits)
