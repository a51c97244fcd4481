"""Extra exercise: find a model for which accumulation is not exact."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

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
        Text(
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
            "model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))\nbatches = [(x, y), ...]",
        ),
    ],
)
def break_accumulation(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        model, batches = answer.break_accumulation()
        if not isinstance(model, torch.nn.Module):
            raise TypeError("the first item of the pair is not a torch.nn.Module")
        sizes = [len(x) for x, _ in batches]
        big = [(torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches]))]
        twin = copy.deepcopy(model)
        first, again = _mean_gradient(twin, big), _mean_gradient(twin, big)
        small = _mean_gradient(copy.deepcopy(model), batches)
        found = {
            "same_sizes": len(sizes) > 1 and len(set(sizes)) == 1,
            "same_shapes": all(twin(x).shape == y.shape for x, y in batches),
            "repeatable": torch.allclose(first, again),
            "differs": bool((small - first).norm() > 0.01 * first.norm()),
        }
        return found | {"cause": _name_cause(twin, batches, found)}


def _name_cause(model: torch.nn.Module, batches: Batches, found: dict[str, bool]) -> str:
    """Return a word for what makes the first property in `found` that does not hold wrong, or "" for no word."""
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
    """Return whether the output for the first sample of `x` stays if all other samples become equal to the first."""
    return torch.allclose(model(x)[:1], model(x[:1].expand_as(x))[:1], rtol=1e-3)


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


@break_accumulation.mistake(
    en="The shapes of `y` and `model(x)` differ, so the loss broadcasts one to the other. A column `(n, 1)` and a row "
    "`(n,)` give a table of all pairs, across samples.",
    ru="Формы `y` и `model(x)` различаются, поэтому в функции потерь происходит транслирование. Из столбца `(n, 1)` и "
    "строки `(n,)` получается таблица всех пар, и примеры смешиваются.",
)
def targets_broadcast() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Linear(2, 1), [(x, y.flatten()) for x, y in _two_batches(4, 4)]


@break_accumulation.mistake(
    en="All micro-batches hold the same `x`. The big batch has the same mean and variance as each of them, and the "
    "gradients agree.",
    ru="Во всех микробатчах один и тот же `x`. У большого батча такие же среднее и дисперсия, и градиенты совпадают.",
)
def the_same_batch_twice() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), _two_batches(4, 0)[:1] * 2


@break_accumulation.mistake(
    en="The model does mix the samples of a batch, but with these numbers the two gradients differ by less than 1 %.",
    ru="Модель смешивает примеры батча, но с этими числами два градиента различаются меньше чем на 1 %.",
)
def nearly_the_same_batch() -> tuple[torch.nn.Module, Batches]:
    ((x, y),) = _two_batches(4, 0)[:1]
    return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)), [(x, y), (x + 1e-6, y)]


class _Counting(torch.nn.Linear):
    """A linear layer whose output grows with the number of its calls."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return super().forward(x) * self.calls


@break_accumulation.mistake(
    en="The same big batch gives another gradient the second time. A model that draws random numbers or remembers its "
    "calls is no counter-example: the output has to depend on the batch alone.",
    ru="Один и тот же большой батч во второй раз даёт другой градиент. Модель со случайными числами или с памятью о "
    "вызовах — не контрпример: выход должен зависеть только от батча.",
)
def counts_its_calls() -> tuple[torch.nn.Module, Batches]:
    return _Counting(2, 1), _two_batches(4, 4)


@break_accumulation.mistake(
    en="The first item of the pair is no module. The order is `(model, batches)`.",
    ru="Первый элемент пары — не модуль. Порядок такой: `(model, batches)`.",
)
def swaps_the_pair() -> tuple[Any, Any]:
    return _two_batches(4, 4), torch.nn.Linear(2, 1)


@break_accumulation.mistake(
    en="The model has no parameters, so there is no gradient to accumulate.",
    ru="У модели нет параметров, поэтому накапливать нечего.",
)
def has_no_parameters() -> tuple[torch.nn.Module, Batches]:
    return torch.nn.BatchNorm1d(2, affine=False), [(x, x) for x, _ in _two_batches(4, 4)]
