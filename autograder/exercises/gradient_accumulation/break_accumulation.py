"""Exercise: find a model for which accumulation is not exact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy

from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Batches


@contextmanager
def _state_put_back(model: torch.nn.Module) -> Iterator[None]:
    """Put parameters and buffers of `model` back at the end.

    A copy would be made by a method of the answer.
    """
    buffers = [(each._buffers, dict(each._buffers)) for each in model.modules()]
    tensors = [each for each in (*model.parameters(), *model.buffers()) if not is_lazy(each)]
    values = [each.detach().clone() for each in tensors]
    try:
        yield
    finally:
        for now, before in buffers:
            now.update(before)
        with torch.no_grad():
            for tensor, value in zip(tensors, values):
                if not torch.equal(tensor, value):
                    tensor.copy_(value)


def _mean_gradient(model: torch.nn.Module, batches: Batches) -> Tensor:
    """Return the flat gradient of accumulation with each mean loss divided by the number of micro-batches.

    `.grad` does not change: a function that fills `.grad` would be an answer to another exercise.
    """
    parameters = list(model.parameters())
    with _state_put_back(model):
        losses = torch.stack([mse_loss(model(x), y) / len(batches) for x, y in batches])
        found = torch.autograd.grad(losses.sum(), parameters, allow_unused=True)
    return torch.cat([gradient.flatten() for gradient in found if gradient is not None])


@exercise(
    title=Text("A model for which it is not exact", "Модель, для которой накопление неточно"),
    kind="write the counter-example",
    difficulty=3,
    aspects=[
        aspect(
            "same_sizes",
            0,
            en="There are two micro-batches or more, all of the same size.",
            ru="Микробатчей не меньше двух, и все одного размера.",
        ),
        aspect(
            "same_shapes",
            0,
            en="Every `y` has the shape of `model(x)`: nothing is broadcast.",
            ru="Форма каждого `y` такая же, как у `model(x)`: транслирования нет.",
        ),
        aspect(
            "repeatable",
            0,
            en="The big batch gives the same gradient each time: nothing is random.",
            ru="Большой батч каждый раз даёт один и тот же градиент: случайности нет.",
            after=("same_sizes", "same_shapes"),
        ),
        aspect(
            "differs",
            2,
            en="The accumulated gradient differs from the big batch's by more than 1 %.",
            ru="Накопленный градиент отличается от градиента большого батча больше чем на 1 %.",
            after=("same_sizes", "same_shapes", "repeatable"),
        ),
    ],
    hints=[
        Text(
            "Accumulation relies on one condition: the loss of a sample does not depend on the other samples of its "
            "batch. Where does it?",
            "Накопление верно при одном условии: потери на примере не зависят от остальных примеров батча. Где это не "
            "так?",
        ),
        Text(
            "One kind of normalisation computes a mean over the batch. In which mode does it do so?",
            "Одна из нормализаций вычисляет среднее по батчу. В каком режиме она это делает?",
        ),
        Text.same(
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]"
        ),
    ],
)
def break_accumulation(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        model, batches = answer.break_accumulation()
        if not isinstance(model, torch.nn.Module):
            raise Refused("raised.type", got=f"({type(model).__name__}, …)", expected="kind.model_and_batches")
        sizes = [len(x) for x, _ in batches]
        big = [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches]))]
        first, small, again = (_mean_gradient(model, each) for each in (big, batches, big))
        found = {
            "same_sizes": len(sizes) > 1 and len(set(sizes)) == 1,
            "same_shapes": all(model(x).shape == y.shape for x, y in batches),
            "repeatable": torch.allclose(first, again),
            "differs": bool((small - first).norm() > 0.01 * first.norm()),
        }
        return found | {"cause": _name_cause(model, batches, found)}


def _name_cause(model: torch.nn.Module, batches: Batches, found: dict[str, bool]) -> str:
    """Return a word for the cause of the first property in `found` that does not hold, or "" for none."""
    layers = list(model.modules())
    if not found["same_sizes"]:
        return "one" if len(batches) == 1 else ""
    if not found["same_shapes"]:
        return ""
    if not found["repeatable"]:
        return "dropout" if any(isinstance(each, _DropoutNd) and each.training for each in layers) else ""
    if found["differs"]:
        return ""
    if not _treats_samples_alone(model, batches[0][0]):
        return "same data" if all(torch.equal(x, batches[0][0]) for x, _ in batches) else "similar data"
    if any(isinstance(each, _BatchNorm) and not each.training for each in layers):
        return "batch norm in eval"
    return "layer norm" if any(isinstance(each, torch.nn.LayerNorm) for each in layers) else ""


def _treats_samples_alone(model: torch.nn.Module, x: Tensor) -> bool:
    """Return whether the first output stays if all other samples become equal to the first of `x`."""
    return torch.allclose(model(x)[:1], model(x[:1].expand_as(x))[:1], rtol=1e-3)
