"""Exercise: a running mean that stays behind when its module moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.containment.refused import Refused
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("A running mean", "Скользящее среднее"),
    kind="find the bug",
    asks="Baseline",
    asks_for="class",
    difficulty=2,
    rtol=1e-4,
    aspects=[
        aspect(
            "values",
            0.5,
            en="Each call returns `x` minus the mean as it was before the call, and the mean is a constant for autograd.",
            ru="Каждый вызов возвращает `x` минус среднее, каким оно было до вызова, и для autograd это среднее — "
            "константа.",
            entries=(Entries(Text("batch {n}", "батч {n}"), Text("batches", "батчей")),),
        ),
        aspect(
            "exact",
            0.5,
            en="The results have all digits of float64.",
            ru="В результатах верны все знаки float64.",
        ),
        aspect(
            "parameters",
            0,
            en="The module has no parameters: an optimizer would train them.",
            ru="Параметров у модуля нет: оптимизатор стал бы их обучать.",
        ),
        works_on(1.5, after=("values", "exact", "parameters")),
        aspect(
            "saved",
            1.5,
            en="A new module that loads the `state_dict()` goes on from the same mean.",
            ru="Новый модуль, загрузивший `state_dict()`, продолжает с того же среднего.",
            after=("values", "exact", "parameters"),
        ),
    ],
    hints=[
        Text(
            "What does `module.to(device)` move: every tensor that is an attribute, or only some?",
            "Что переносит `module.to(device)`: любой тензор, который лежит в атрибуте, или не любой?",
        ),
        Text(
            "A module knows its parameters and its buffers. Both are moved and saved; an optimizer gets the parameters.",
            "Модуль знает о своих параметрах и буферах. Переносятся и сохраняются те и другие, а оптимизатору достаются "
            "только параметры.",
        ),
        Text.same(
            "class Baseline(torch.nn.Module):\n"
            "    def __init__(self, features, rate):\n"
            "        super().__init__()\n"
            "        self.rate = rate\n"
            "        self.register_buffer(..., ...)\n\n"
            "    def forward(self, x):\n"
            "        result = x - self.mean\n"
            "        self.mean = self.mean + self.rate * (... - self.mean)\n"
            "        return result"
        ),
    ],
)
def fix_baseline(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        baseline = _made(answer, case)
        batches = [x.requires_grad_() for x in case.batches]
        results = [baseline(x) for x in batches]
        evaluated = [baseline.eval()(x).detach() for x in case.batches[:2]]
        gradients: object = None
        if isinstance(results[-1], Tensor) and results[-1].requires_grad:
            gradients = torch.autograd.grad(results[-1].sum(), batches, allow_unused=True)
        other = _made(answer, case)
        other.load_state_dict(baseline.state_dict())
        return {
            "values": {"results": results, "gradients": gradients, "results in eval": evaluated},
            "exact": _exact(results, case),
            "parameters": len(list(baseline.parameters())),
            "saved": {"next result": baseline(batches[0]), "next result of the new module": other(batches[0])},
        }


def _exact(results: list[Any], case: Case) -> bool:
    """Return whether the results are right to the last digits."""
    mean: Any = 0.0
    for x, result in zip(case.batches, results):
        if not torch.allclose(result, x - mean, rtol=0, atol=1e-12):
            return False
        mean = mean + case.rate * (x.detach().mean(0) - mean)
    return True


def _made(answer: Any, case: Case) -> nn.Module:
    made = answer.Baseline(case.batches[0].shape[1], case.rate)
    if not isinstance(made, nn.Module):
        raise Refused("raised.base", name="Baseline", base="torch.nn.Module")
    return made.to(case.batches[0].device)


@fix_baseline.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    baseline = _made(answer, case)
    return {"results": [baseline(x) for x in case.batches]}


@fix_baseline.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(batches=[signed(rng, 4, 3), signed(rng, 2, 3), signed(rng, 5, 3)], rate=0.25)
    yield Case(batches=[signed(rng, 2, 1), signed(rng, 3, 1)], rate=0.1)
