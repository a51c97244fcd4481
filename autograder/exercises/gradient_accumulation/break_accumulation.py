"""Extra exercise: find a model for which accumulation is not exact."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import Batches


def _mean_gradient(model: torch.nn.Module, batches: Batches) -> Tensor:
    """Return the flat gradient that accumulation gives if each mean loss is divided by the number of micro-batches.

    `.grad` does not change: a function that fills `.grad` would be an answer to another exercise.
    """
    parameters = list(model.parameters())
    losses = torch.stack([mse_loss(model(x), y) / len(batches) for x, y in batches])
    found = torch.autograd.grad(losses.sum(), parameters, allow_unused=True)
    return torch.cat([gradient.flatten() for gradient in found if gradient is not None])


@exercise(
    title=Text("A model for which it is not exact", "Модель, для которой накопление неточно"),
    kind="write the counter-example",
    difficulty=3,
    minutes=10,
    aspects=[
        aspect(
            "same_sizes",
            0,
            en="There are two micro-batches or more, all of the same size.",
            ru="Микробатчей не меньше двух, и все одного размера.",
        ),
        aspect(
            "repeatable",
            0,
            en="The big batch gives the same gradient each time: nothing is random.",
            ru="Большой батч каждый раз даёт один и тот же градиент: случайности нет.",
        ),
        aspect(
            "differs",
            2,
            en="The accumulated gradient differs from the big batch's by more than 1 %.",
            ru="Накопленный градиент отличается от градиента большого батча больше чем на 1 %.",
            after=("same_sizes", "repeatable"),
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
        Text(
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
        ),
    ],
)
def break_accumulation(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        model, batches = answer.break_accumulation()
        sizes = [len(x) for x, _ in batches]
        big = [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches]))]
        twin = copy.deepcopy(model)
        first, again = _mean_gradient(twin, big), _mean_gradient(twin, big)
        small = _mean_gradient(copy.deepcopy(model), batches)
        away = ((small - first).norm() / first.norm()).item()
    layers = {type(module).__name__ for module in model.modules()}
    return {
        "same_sizes": len(sizes) > 1 and len(set(sizes)) == 1,
        "repeatable": torch.allclose(first, again),
        "differs": away > 0.01,
        "training": model.training,
        "special_layers": sorted(name for name in layers if "Norm" in name or "Drop" in name),
        "micro_batches": len(sizes),
    }


def _two_batches(n: int, m: int) -> Batches:
    x = torch.arange(2.0 * (n + m)).reshape(n + m, 2).sin()
    y = x.sum(1, keepdim=True).exp()
    return [(x[:n], y[:n]), (x[n:], y[n:])]


@break_accumulation.mistake(
    en="The difference comes from micro-batches of different sizes. It has to be one that equal sizes do not cure.",
    ru="Различие вызвано разными размерами микробатчей, а должно сохраняться и при равных размерах.",
)
def uneven_sizes() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Linear(2, 1), _two_batches(6, 2)


@break_accumulation.mistake(
    en="The difference comes from the randomness of dropout: even the big batch does not agree with itself.",
    ru="Различие вызвано случайностью dropout: даже у большого батча градиент каждый раз другой.",
)
def dropout() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Dropout(), torch.nn.Linear(32, 1)), _two_batches(4, 4)


@break_accumulation.mistake(
    en="You expected `LayerNorm` to mix samples. It normalises each sample on its own.",
    ru="Вы ожидали, что `LayerNorm` смешивает примеры. Но этот слой нормирует каждый пример отдельно.",
)
def layer_norm() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.LayerNorm(2), torch.nn.Linear(2, 1)), _two_batches(4, 4)


@break_accumulation.mistake(
    en="The model is in `eval()` mode, where `BatchNorm` uses its stored statistics, not those of the batch.",
    ru="Модель в режиме `eval()`, а в нём `BatchNorm` берёт накопленные статистики, а не статистики батча.",
)
def batch_norm_in_eval() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)).eval(), _two_batches(4, 4)


@break_accumulation.mistake(
    en="The model treats each sample on its own: then accumulation is exact, whatever the numbers are.",
    ru="Модель обрабатывает каждый пример отдельно: тогда накопление точно, какими бы ни были числа.",
)
def plain_layers() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Linear(2, 1), _two_batches(4, 4)


@break_accumulation.mistake(
    en="There is one micro-batch: then it is the big batch itself.",
    ru="Микробатч всего один: тогда он и есть большой батч.",
)
def one_micro_batch() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), _two_batches(8, 0)[:1]
