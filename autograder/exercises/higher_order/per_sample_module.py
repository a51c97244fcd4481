"""Exercise: per-sample gradients of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform, with_old_gradients
from autograder.checking.labels import CALLS_AND_PASSES
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import count_passes, is_as_before, linear, release, state_of, tanh_net, untouched


class Tied(torch.nn.Module):
    """A module with two layers that share one weight."""

    def __init__(self, first: torch.nn.Linear, second: torch.nn.Linear) -> None:
        super().__init__()
        self.first, self.second = first, second
        second.weight = first.weight

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.second(self.first(x).tanh())
        return output


@exercise(
    title=Text("Per-sample gradients of a module", "Градиенты модуля по отдельным примерам"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "gradients",
            0.5,
            en="The dict has an entry for each parameter that requires grad: the gradients of all samples, of shape "
            "$(B, \\ldots)$.",
            ru="В словаре есть элемент для каждого параметра, который требует градиента: тензор формы $(B, \\ldots)$ с "
            "градиентами всех примеров.",
        ),
        untouched(0.5),
        aspect(
            "passes",
            3,
            en="Calls of the model and backward passes together are at most 3, for 5 samples.",
            ru="Вызовов модели и обратных проходов вместе не больше 3 при 5 примерах.",
            measured=CALLS_AND_PASSES,
        ),
    ],
    hints=[
        Text(
            "Write the loss of one sample as a function of a dict of weights. Which arguments have a batch dimension?",
            "Запишите функцию потерь на одном примере как функцию словаря весов. У каких аргументов есть измерение "
            "батча?",
        ),
        Text(
            "`functional_call(model, weights, (x,))` runs the model with the tensors of the dict; what is not in the "
            "dict stays as in the module. Inside `vmap` a row has no batch dimension: `x[None]` adds it.",
            "Вызов `functional_call(model, weights, (x,))` выполняет модель с тензорами из словаря; то, чего в словаре "
            "нет, берётся из модуля. Внутри `vmap` у строки нет измерения батча: его добавляет `x[None]`.",
        ),
        Text.same(
            "weights = {name: p.detach() for name, p in model.named_parameters() if ...}\n\n"
            "def loss(weights, x, y):\n    return mse_loss(functional_call(model, weights, (x[None],)), y[None])\n\n"
            "return vmap(grad(loss), in_dims=(...))(weights, x, y)"
        ),
    ],
    why=Why(
        Text(
            "Why is `vmap` cheaper than a backward pass for each sample of one batch?",
            "Почему `vmap` дешевле, чем обратный проход для каждого примера одного батча?",
        ),
        Text(
            "Each of those passes goes through the graph of the whole batch, with zeros for all other samples. "
            "`vmap` runs the program of one sample once, on tensors with one more dimension.",
            "Каждый такой проход идёт через граф всего батча, с нулями для всех остальных примеров. `vmap` один "
            "раз выполняет программу для одного примера, на тензорах с дополнительным измерением.",
        ),
    ),
)
def per_sample_module(answer: Any, case: Case) -> dict[str, object]:
    model, before = case.model, state_of(case.model)
    try:
        with count_passes(model, case.x) as passes:
            gradients = answer.per_sample_module(model, case.x, case.y)
        return {
            "gradients": gradients,
            "untouched": is_as_before(model, before),
            "passes": AtMost(limit=3, used=passes.total),
            "many_calls": passes.calls >= len(case.x),
            "many_runs": passes.runs >= len(case.x),
        }
    finally:
        release(model)


@per_sample_module.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=with_old_gradients(tanh_net(rng, 3, 4, 2)), x=signed(rng, 5, 3), y=signed(rng, 5, 2))
    norm = torch.nn.BatchNorm1d(4).double()
    norm.running_mean, norm.running_var = uniform(rng, 4), uniform(rng, 4)
    model = torch.nn.Sequential(linear(rng, 3, 4), norm, torch.nn.Tanh(), linear(rng, 4, 1)).eval()
    model[0].requires_grad_(False)
    yield Case(model=model, x=signed(rng, 5, 3), y=signed(rng, 5, 1))
    yield Case(model=Tied(linear(rng, 2, 2), linear(rng, 2, 2)), x=signed(rng, 5, 2), y=signed(rng, 5, 2))
