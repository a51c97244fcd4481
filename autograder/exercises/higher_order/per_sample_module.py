"""Core exercise: per-sample gradients of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import CALLS_AND_PASSES
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import count_passes, is_as_before, linear, release, state_of, tanh_net, untouched, with_old_gradients

Named = dict[str, Tensor]


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
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "gradients",
            2.5,
            en="The dict has an entry for each parameter that requires grad: the gradients of all samples, of shape "
            "$(B, \\ldots)$.",
            ru="В словаре есть запись для каждого параметра, который требует градиента: градиенты всех примеров формы "
            "$(B, \\ldots)$.",
        ),
        untouched(0.5),
        aspect(
            "passes",
            1,
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
        Text(
            "weights = {name: p.detach() for name, p in model.named_parameters() if ...}\n\n"
            "def loss(weights, x, y):\n    return mse_loss(functional_call(model, weights, (x[None],)), y[None])\n\n"
            "return vmap(grad(loss), in_dims=(...))(weights, x, y)",
            "weights = {name: p.detach() for name, p in model.named_parameters() if ...}\n\n"
            "def loss(weights, x, y):\n    return mse_loss(functional_call(model, weights, (x[None],)), y[None])\n\n"
            "return vmap(grad(loss), in_dims=(...))(weights, x, y)",
        ),
    ],
)
def per_sample_module(answer: Any, case: Case) -> dict[str, object]:
    model, before = case.model, state_of(case.model)
    try:
        with count_passes(model) as passes:
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


def _trainable(model: Any) -> Named:
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def _all_samples(model: Any, x: Tensor, y: Tensor, weights: Named | None = None) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],)), y[None])

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model) if weights is None else weights, x, y)
    return found


def _of_the_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    return dict(zip(trainable, torch.autograd.grad(mse_loss(model(x), y), list(trainable.values()))))


@per_sample_module.mistake(
    en="This is the gradient of the mean loss over the batch: one tensor for each parameter, without a dimension for "
    "the samples.",
    ru="Это градиент функции потерь, усреднённой по батчу: один тензор на параметр, без измерения для примеров.",
)
def gradient_of_the_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    return _of_the_batch(model, x, y)


@per_sample_module.mistake(
    en="The gradient of the mean loss was put into every row. Each sample has a gradient of its own.",
    ru="В каждой строке — градиент функции потерь, усреднённой по батчу. Но у каждого примера градиент свой.",
)
def mean_in_every_row(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g.expand(len(x), *g.shape) for name, g in _of_the_batch(model, x, y).items()}


@per_sample_module.mistake(
    en="Each row was divided by the number of samples, as if it were a part of a mean.",
    ru="Каждая строка разделена на число примеров, как слагаемое среднего.",
)
def shares_of_a_mean(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g / len(x) for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The dict has entries for frozen parameters, too. Asked for are those that require grad.",
    ru="В словаре есть и замороженные параметры, а нужны только те, что требуют градиента.",
)
def frozen_ones_too(model: Any, x: Tensor, y: Tensor) -> Named:
    return _all_samples(model, x, y, {name: p.detach() for name, p in model.named_parameters()})


@per_sample_module.mistake(
    en="`vmap` does not run over `y`: each sample was compared with the targets of all.",
    ru="Вызов `vmap` не перебирает `y`: каждый пример сравнивается с ответами для всех.",
)
def every_target(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x[None],)), y)

    found: Named = vmap(grad(loss), in_dims=(None, 0, None))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="The model got a row without a batch dimension, as `vmap` hands it out. `BatchNorm` takes batches only: "
    "`x[None]` is a batch of one.",
    ru="Модель получила строку без измерения батча — такой её передаёт `vmap`. Но `BatchNorm` принимает только батчи: "
    "батч из одного примера — это `x[None]`.",
)
def rows_without_a_batch(model: Any, x: Tensor, y: Tensor) -> Named:
    def loss(weights: Named, x: Tensor, y: Tensor) -> Tensor:
        return mse_loss(functional_call(model, weights, (x,)), y)

    found: Named = vmap(grad(loss), in_dims=(None, 0, 0))(_trainable(model), x, y)
    return found


@per_sample_module.mistake(
    en="The errors of a sample were summed. Its loss is the mean over the entries of its output.",
    ru="Квадраты ошибок примера сложены, а функция потерь — их среднее по элементам выхода.",
)
def sums_the_entries(model: Any, x: Tensor, y: Tensor) -> Named:
    return {name: g * y[0].numel() for name, g in _all_samples(model, x, y).items()}


@per_sample_module.mistake(
    en="The gradients were returned in a list. Asked for is a dict with the names of the parameters.",
    ru="Градиенты возвращены в списке, а нужен словарь с именами параметров.",
)
def list_of_gradients(model: Any, x: Tensor, y: Tensor) -> list[Tensor]:
    return list(_all_samples(model, x, y).values())


@per_sample_module.mistake(
    en="The gradients are right, but `backward()` was used: it has changed `.grad` of the parameters.",
    ru="Градиенты верны, но вычислены методом `backward()`, и поле `.grad` у параметров изменилось.",
)
def loop_of_backward(model: Any, x: Tensor, y: Tensor) -> Named:
    rows: dict[str, list[Tensor]] = {name: [] for name in _trainable(model)}
    for a, b in zip(x.split(1), y.split(1)):
        model.zero_grad()
        mse_loss(model(a), b).backward()  # type: ignore[no-untyped-call]
        for name, p in model.named_parameters():
            if name in rows:
                rows[name].append(p.grad.clone())
    return {name: torch.stack(found) for name, found in rows.items()}


@per_sample_module.mistake(
    en="There is a loop over the samples, with a call of the model and a backward pass for each.",
    ru="По примерам идёт цикл: на каждый приходится вызов модели и обратный проход.",
)
def loop_over_samples(model: Any, x: Tensor, y: Tensor) -> Named:
    found = [_of_the_batch(model, a, b) for a, b in zip(x.split(1), y.split(1))]
    return {name: torch.stack([each[name] for each in found]) for name in found[0]}


@per_sample_module.mistake(
    en="One call gives the losses of all samples, but there is a backward pass for each of them.",
    ru="Потери на всех примерах вычислены одним вызовом, но на каждый пример приходится обратный проход.",
)
def pass_for_each_loss(model: Any, x: Tensor, y: Tensor) -> Named:
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    losses = (model(x) - y).square().flatten(1).mean(1)
    rows = [torch.autograd.grad(loss, list(trainable.values()), retain_graph=True) for loss in losses]
    return {name: torch.stack(parts) for name, parts in zip(trainable, zip(*rows))}
