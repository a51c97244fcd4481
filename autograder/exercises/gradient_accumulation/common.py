"""Helpers for the exercises on gradient accumulation.

A window is the sequence of micro-batches between two optimizer steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, normalize

from autograder.checking.exercise import Case, aspect
from autograder.checking.inputs import linear_layer, uniform
from autograder.checking.labels import DIRECTIONS_OF_PASSES
from autograder.measure import batch_sizes, passes_to, weights_after_steps

Batches = list[tuple[Tensor, Tensor]]


WEIGHT_STAYS = aspect("weight", 0, en="The weight itself does not change.", ru="Сам вес не меняется.")

ONE_BACKWARD_EACH = aspect(
    "backward_runs",
    1,
    en="There is one backward pass for each micro-batch.",
    ru="На каждый микробатч приходится один обратный проход.",
    after=("gradient",),
    entries=(DIRECTIONS_OF_PASSES,),
)


def linear(rng: torch.Generator, features: int = 3, outputs: int = 1) -> torch.nn.Linear:
    """Return a random linear model without bias. Its `.grad` is filled, as after an earlier backward pass."""
    model = linear_layer(uniform(rng, outputs, features))
    model.weight.grad = 100 * uniform(rng, outputs, features)
    return model


def without_gradient(model: torch.nn.Linear) -> torch.nn.Linear:
    """Set `.grad` of the model's parameters to None, and return the model."""
    model.zero_grad()
    return model


def micro_batches(rng: torch.Generator, *sizes: int, features: int = 3, outputs: int = 1) -> Batches:
    return [(uniform(rng, n, features), 3 * uniform(rng, n, outputs)) for n in sizes]


def sgd(model: torch.nn.Module, lr: float = 0.01, momentum: float = 0.0) -> torch.optim.SGD:
    """Return an SGD optimizer for `model`, with a group for each parameter. Every `.grad` is set to None."""
    optimizer = torch.optim.SGD([{"params": [each]} for each in model.parameters()], lr=lr, momentum=momentum)
    optimizer.zero_grad()
    return optimizer


def adam(model: torch.nn.Module, lr: float = 0.1) -> torch.optim.Adam:
    """Return an Adam optimizer with weight decay for `model`. Every `.grad` is set to None.

    A gradient that is K times too long and a learning rate that is K times too small cancel for SGD, not for Adam.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=0.5)
    optimizer.zero_grad()
    return optimizer


def affine(rng: torch.Generator, outputs: int = 1) -> torch.nn.Linear:
    return linear_layer(uniform(rng, outputs, 3), uniform(rng, outputs))


def alternating_batches(rng: torch.Generator, *sizes: int, outputs: int = 1) -> Batches:
    """Return micro-batches of these sizes whose gradients alternate in sign and become smaller.

    Their sum therefore shows whether each micro-batch was clipped on its own.
    """
    return [(2 * uniform(rng, n, 3), (-3.0) ** -i * 100 * uniform(rng, n, outputs)) for i, n in enumerate(sizes)]


def with_old_gradients(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Fill every `.grad` with 1000, as after an earlier backward pass, and return `optimizer`."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.full_like(parameter, 1000.0)
    return optimizer


def training_cases(rng: torch.Generator) -> Iterator[Case]:
    """Yield three cases for training loops.

    The first is a tiny data set from the lesson, the others are random data. The second has a model with a bias, the
    third an optimizer to which the length of the gradient matters in another way than to SGD.
    """
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.ones_(model.weight)
    batches = [(x, 2 * x) for x in torch.tensor([4.0, 2.0, 3.0, 1.0], dtype=torch.float64).reshape(4, 1, 1)]
    yield Case(model=model, optimizer=sgd(model, lr=0.1), batches=batches, accumulation_steps=2)
    model = affine(rng)
    yield Case(model=model, optimizer=sgd(model), batches=micro_batches(rng, *[2] * 6), accumulation_steps=3)
    model = linear(rng)
    yield Case(model=model, optimizer=adam(model), batches=micro_batches(rng, *[3] * 4), accumulation_steps=2)


@contextmanager
def emptiness(weight: Tensor) -> Iterator[list[bool]]:
    """Record whether `weight.grad` holds nothing when a backward pass in the `with` block reaches it.

    Yields a list with one entry per pass. None and zeros are nothing.
    """
    empty: list[bool] = []

    def note(_: Tensor) -> None:
        empty.append(weight.grad is None or not weight.grad.any())

    handle = weight.register_hook(note)
    try:
        yield empty
    finally:
        handle.remove()


def directions(passes: list[Tensor]) -> list[Tensor]:
    """Return the gradients of all backward passes, scaled to length 1 and sorted.

    A direction tells which micro-batch a pass used, even if its loss was weighted. Sorting removes the order of the
    passes, which does not matter.
    """
    return sorted((normalize(gradient.flatten(), dim=0) for gradient in passes), key=Tensor.tolist)


def observe_accumulation(accumulate: Callable[..., object], case: Case) -> dict[str, object]:
    """Observe `accumulate(model, batches)`, an answer that leaves the gradient in `model.weight.grad`.

    Returns a dict with weight, gradient, directions of the backward passes, batch sizes, and `emptiness`.
    """
    weight = case.model.weight
    with passes_to(weight) as passes, batch_sizes(case.model) as sizes, emptiness(weight) as empty:
        accumulate(case.model, case.batches)
    gradient = case.model.weight.grad
    return {"weight": weight, "gradient": gradient, "backward_runs": directions(passes), "sizes": sizes, "empty": empty}


def observe_training(train: Callable[..., object], case: Case) -> dict[str, object]:
    """Observe `train(model, optimizer, batches, accumulation_steps)`, an answer that trains for one epoch.

    Returns a dict with the weights after each step, directions of the backward passes, batch sizes, and `emptiness`.
    """
    with (
        passes_to(case.model.weight) as passes,
        batch_sizes(case.model) as sizes,
        weights_after_steps(case.optimizer) as weights,
        emptiness(case.model.weight) as empty,
    ):
        train(case.model, case.optimizer, case.batches, case.accumulation_steps)
    return {"weights": weights, "backward_runs": directions(passes), "sizes": sizes, "empty": empty}


def mean_gradient_norm(model: torch.nn.Module, batches: Batches) -> float:
    """Return the norm of the gradient of the mean loss over all samples in `batches`."""
    return float(torch.stack(mean_gradient_norms(model, batches)).norm())


def mean_gradient_norms(model: torch.nn.Module, batches: Batches) -> list[Tensor]:
    """Return for each parameter the norm of its part of that gradient."""
    x, y = (torch.cat(parts) for parts in zip(*batches))
    return [g.norm() for g in torch.autograd.grad(mse_loss(model(x), y), list(model.parameters()))]
