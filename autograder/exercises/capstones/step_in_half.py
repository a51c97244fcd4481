"""Exercise: a step whose scaler refuses gradients in half precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.counted_run import dtypes_of, recording_products
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.labels import Entries
from autograder.checking.values import number
from autograder.language import Text

from .common import copies, linear

Scaler = torch.amp.GradScaler
SCALE = 2.0**10


@exercise(
    title=Text("Half in the middle", "Вычисления в половинной точности"),
    kind="find the bug",
    difficulty=2,
    rtol=0.02,
    aspects=[
        aspect(
            "dtypes",
            1,
            en="The layers compute in float16, and the weights stay in float32, with all their digits.",
            ru="Слои работают в float16, а веса остаются в float32, со всеми знаками.",
        ),
        aspect(
            "step",
            1.5,
            en="The optimizer steps with the gradients of float32, within 2 %; if they are infinite, it makes no step and the "
            "scale is halved.",
            ru="Оптимизатор делает шаг с градиентами float32, с точностью до 2 %; если они бесконечны, шага нет, а масштаб "
            "уменьшен вдвое.",
            entries=(Entries(Text("step {n}", "шаг {n}"), Text("steps", "шагов")),),
        ),
        aspect(
            "loss",
            0.5,
            en="The loss is returned without the scale, a Python number.",
            ru="Возвращается значение функции потерь без масштаба, число Python.",
        ),
    ],
    hints=[
        Text(
            "Which dtype does a gradient have? Which dtype should the weights have, and which the products in the layers?",
            "Какой тип у градиента? Какой тип нужен весам, а какой — произведениям внутри слоёв?",
        ),
        Text(
            "`torch.autocast` converts the inputs of single operations. The parameters are left alone.",
            "Контекстный менеджер `torch.autocast` преобразует входы отдельных операций. Параметры он не меняет.",
        ),
        Text.same('with torch....("cpu", dtype=...):\n    loss = mse_loss(model(x), y)'),
    ],
)
def step_in_half(answer: Any, case: Case) -> dict[str, object]:
    names = [name for name, _ in case.model.named_parameters()]
    parameters = list(case.model.parameters())
    before, gradients, whole = copies(parameters), [], []

    def at_step(*_: object) -> None:
        gradients.append(dict(zip(names, copies(p.grad for p in parameters))))
        whole.append(all(torch.equal(old, p) for old, p in zip(before, parameters)))  # type: ignore[arg-type]

    handle = case.optimizer.register_step_pre_hook(at_step)
    try:
        with recording_products() as products:
            loss = answer.step_in_half(case.model, case.optimizer, case.scaler, case.x, case.y)
    finally:
        handle.remove()
    return {
        "step": {"gradients": gradients, "scale": case.scaler.get_scale()},
        "dtypes": {
            "layers": dtypes_of(products),
            "weights": sorted({str(p.dtype) for p in case.model.parameters()}),
            "not rounded": all(whole),
        },
        "loss": loss if isinstance(loss, Tensor) else number(loss),
    }


@step_in_half.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for kind in ("plain", "small", "infinite", "close"):
        inner, last = linear(rng, 4, 4), linear(rng, 4, 1)
        if kind == "small":
            with torch.no_grad():
                inner.weight *= 1e-3
                last.weight *= 1e-3
        model = nn.Sequential(linear(rng, 3, 4), nn.Tanh(), inner, nn.Tanh(), last)
        model.float()
        if kind == "plain":
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, 1000 * SCALE)  # noticed even if divided by the scale
        y = uniform(rng, 5, 1) * (1000 if kind == "infinite" else 1) + 2
        if kind == "close":  # to a result that float16 holds exactly, while it rounds the targets to that result
            with torch.no_grad():
                last.weight *= 1e-4
                last.bias.fill_(1024)
            y = 1024 + uniform(rng, 5, 1) / 10 + 0.1
        yield Case(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
            scaler=Scaler("cpu", init_scale=SCALE),
            x=uniform(rng, 5, 3).float(),
            y=y.float(),
        )
