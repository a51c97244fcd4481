"""Parts shared by the exercises on gradient accumulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, normalize

from autograder.checking.exercise import Case, aspect
from autograder.checking.inputs import uniform
from autograder.measure import batch_sizes, passes_to, weights_after_steps

Batches = list[tuple[Tensor, Tensor]]


def linear(rng: torch.Generator, features: int = 3) -> torch.nn.Linear:
    """A linear model without bias whose `.grad` already holds something, as after an earlier backward."""
    model = torch.nn.Linear(features, 1, bias=False, dtype=torch.float64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, features))
    model.weight.grad = 100 * uniform(rng, 1, features)
    return model


def untouched(model: torch.nn.Linear) -> torch.nn.Linear:
    """`model` before its first backward pass: None in `.grad`."""
    model.zero_grad()
    return model


def micro_batches(rng: torch.Generator, *sizes: int, features: int = 3) -> Batches:
    return [(uniform(rng, n, features), 3 * uniform(rng, n, 1)) for n in sizes]


def sgd(model: torch.nn.Module, lr: float = 0.01, momentum: float = 0.0) -> torch.optim.SGD:
    """Plain gradient descent on `model`, with clean gradients."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    optimizer.zero_grad()
    return optimizer


WEIGHT_STAYS = aspect("weight", 0, en="The weight itself does not change.", ru="Сам вес не меняется.")


ONE_BACKWARD_EACH = aspect(
    "backward_runs",
    1,
    en="There is one backward pass for each micro-batch.",
    ru="На каждый микробатч приходится один обратный проход.",
    after=("gradient",),
)


def _accumulate(name: str) -> Callable[[Any, Case], dict[str, object]]:
    """The probe of the exercises in which `name(model, batches)` leaves a gradient in `model.weight.grad`."""

    def probe(answer: Any, case: Case) -> dict[str, object]:
        weight = case.model.weight
        with passes_to(weight) as passes, batch_sizes(case.model) as sizes:
            getattr(answer, name)(case.model, case.batches)
        gradient = case.model.weight.grad
        return {"weight": weight, "gradient": gradient, "backward_runs": _directions(passes), "sizes": sizes}

    probe.__name__, probe.__module__ = name, __name__
    return probe


def _directions(passes: list[Tensor]) -> list[Tensor]:
    """The gradient of each pass, scaled to length 1: which micro-batch it is of, however the loss was weighted.

    They say more than their number, and only who goes backward through each micro-batch has them. Sorted, as the order
    of the passes does not matter.
    """
    return sorted((normalize(gradient.flatten(), dim=0) for gradient in passes), key=Tensor.tolist)


def _trains(name: str) -> Callable[[Any, Case], dict[str, object]]:
    """The probe of the exercises in which `name(model, optimizer, batches, accumulation_steps)` trains in windows."""

    def probe(answer: Any, case: Case) -> dict[str, object]:
        arguments = case.model, case.optimizer, case.batches, case.accumulation_steps
        with (
            passes_to(case.model.weight) as passes,
            batch_sizes(case.model) as sizes,
            weights_after_steps(case.optimizer) as weights,
        ):
            getattr(answer, name)(*arguments)
        return {"weights": weights, "backward_runs": _directions(passes), "sizes": sizes}

    probe.__name__, probe.__module__ = name, __name__
    return probe


def _seed_case() -> Case:
    """The data of the notebook this exercise comes from: W starts at 1, the target is 2x."""
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    torch.nn.init.ones_(model.weight)
    batches = [(x, 2 * x) for x in torch.tensor([4.0, 2.0, 3.0, 1.0], dtype=torch.float64).reshape(4, 1, 1)]
    return Case(model=model, optimizer=sgd(model, lr=0.1), batches=batches, accumulation_steps=2)


def _windows(rng: torch.Generator) -> Iterator[Case]:
    yield _seed_case()
    model = linear(rng)
    yield Case(model=model, optimizer=sgd(model), batches=micro_batches(rng, *[2] * 6), accumulation_steps=3)


def _epoch(model: Any, optimizer: Any, batches: Batches, k: int, share: Callable[[Batches, int], float]) -> float:
    """An epoch in windows of `k`; `share(window, n)` is the weight of a micro-batch of n samples."""
    total = 0.0
    for start in range(0, len(batches), k):
        window = batches[start : start + k]
        optimizer.zero_grad()
        for x, y in window:
            loss = mse_loss(model(x), y)
            (loss * share(window, len(x))).backward()
            total += loss.item() * len(x)
        optimizer.step()
    return total / _samples(batches)


def _clearing(model: torch.nn.Module) -> Callable[[Tensor], Tensor]:
    """`model`, called after a `zero_grad()`."""

    def call(x: Tensor) -> Tensor:
        model.zero_grad()
        return model(x)  # type: ignore[no-any-return]

    return call


def _joined(batches: Batches, k: int) -> Batches:
    """Every window of `k` micro-batches as one."""
    windows = (batches[start : start + k] for start in range(0, len(batches), k))
    return [(torch.cat([x for x, _ in w]), torch.cat([y for _, y in w])) for w in windows]


def _samples(batches: Batches) -> int:
    return sum(len(x) for x, _ in batches)


def affine(rng: torch.Generator) -> torch.nn.Linear:
    model = torch.nn.Linear(3, 1, dtype=torch.float64)
    model.weight = torch.nn.Parameter(uniform(rng, 1, 3))
    model.bias = torch.nn.Parameter(uniform(rng, 1))
    return model


def scattered(rng: torch.Generator, *sizes: int) -> Batches:
    """Micro-batches whose gradients point to and fro, the longest first: clipping any of them early shows at the end."""
    return [(2 * uniform(rng, n, 3), (-3.0) ** -i * 100 * uniform(rng, n, 1)) for i, n in enumerate(sizes)]


def norm_of_mean(model: torch.nn.Module, batches: Batches) -> float:
    """Norm of the gradient of the mean loss over all samples."""
    x, y = (torch.cat(parts) for parts in zip(*batches))
    gradients = torch.autograd.grad(mse_loss(model(x), y), list(model.parameters()))
    return float(torch.cat([g.flatten() for g in gradients]).norm())


def unclean(optimizer: torch.optim.SGD) -> torch.optim.SGD:
    """`optimizer` with gradients left over from an earlier backward pass."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.full_like(parameter, 1000.0)
    return optimizer


def _window(model: Any, optimizer: Any, batches: Batches, after_each: Callable[[], object] = lambda: None) -> None:
    """Accumulate a window's gradient over micro-batches of the same size."""
    optimizer.zero_grad()
    for x, y in batches:
        (mse_loss(model(x), y) / len(batches)).backward()
        after_each()
