"""Extra exercise: a step whose scaler refuses gradients in half precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.values import number
from autograder.language import Text

from .common import copies, linear

Optimizer = torch.optim.Optimizer
Scaler = torch.amp.GradScaler
_SCALE = 2.0**10


@exercise(
    title=Text("Half in the middle", "Вычисления в половинной точности"),
    kind="find the bug",
    difficulty=2,
    minutes=12,
    rtol=0.02,
    aspects=[
        aspect(
            "step",
            2,
            en="The optimizer steps with the gradients of float32, within 2 %; if they are infinite, it makes no step and the "
            "scale is halved.",
            ru="Оптимизатор делает шаг с градиентами float32, с точностью до 2 %; если они бесконечны, шага нет, а масштаб "
            "уменьшен вдвое.",
        ),
        aspect(
            "dtypes",
            1,
            en="The layers compute in float16, and the weights stay in float32, with all their digits.",
            ru="Слои вычисляют в float16, а веса остаются в float32, со всеми знаками.",
            after=(),
        ),
        aspect(
            "loss",
            0,
            en="The loss is returned without the scale, a Python number.",
            ru="Возвращается значение функции потерь без масштаба, число Python.",
            after=(),
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
        Text(
            'with torch.autocast("cpu", dtype=torch.float16):\n    loss = mse_loss(model(x), y)',
            'with torch.autocast("cpu", dtype=torch.float16):\n    loss = mse_loss(model(x), y)',
        ),
    ],
)
def step_in_half(answer: Any, case: Case) -> dict[str, object]:
    names = [name for name, _ in case.model.named_parameters()]
    parameters = list(case.model.parameters())
    before, gradients, whole = copies(parameters), [], []
    layers: list[str] = []

    def at_step(*_: object) -> None:
        gradients.append(dict(zip(names, copies(p.grad for p in parameters))))
        whole.append(all(torch.equal(old, p) for old, p in zip(before, parameters)))  # type: ignore[arg-type]

    def note(module: nn.Module, inputs: object, output: Any) -> None:
        layers.append(str(getattr(output, "dtype", None)))

    with ExitStack() as stack:
        stack.callback(case.optimizer.register_step_pre_hook(at_step).remove)
        for layer in case.model:
            if isinstance(layer, nn.Linear):
                stack.callback(layer.register_forward_hook(note).remove)
        loss = answer.step_in_half(case.model, case.optimizer, case.scaler, case.x, case.y)
    return {
        "step": {"gradients": gradients, "scale": case.scaler.get_scale()},
        "dtypes": {
            "layers": sorted(set(layers)),
            "weights": sorted({str(p.dtype) for p in case.model.parameters()}),
            "not rounded": all(whole),
        },
        "loss": loss if isinstance(loss, Tensor) else number(loss),
    }


@step_in_half.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for kind in ("plain", "small", "infinite"):
        inner, last = linear(rng, 4, 4), linear(rng, 4, 1)
        if kind == "small":
            with torch.no_grad():
                inner.weight *= 1e-3
                last.weight *= 1e-3
        model = nn.Sequential(linear(rng, 3, 4), nn.Tanh(), inner, nn.Tanh(), last)
        model.float()
        if kind == "plain":
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, 1000 * _SCALE)  # noticed even if divided by the scale
        y = uniform(rng, 5, 1) * (1000 if kind == "infinite" else 1) + 2
        yield Case(
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.01),
            scaler=Scaler("cpu", init_scale=_SCALE),
            x=uniform(rng, 5, 3).float(),
            y=y.float(),
        )


def _loss(model: Any, x: Tensor, y: Tensor, dtype: torch.dtype) -> Tensor:
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        return mse_loss(model(x), y)


def _scaled_step(model: Any, optimizer: Optimizer, scaler: Scaler, loss: Tensor) -> float:
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@step_in_half.mistake(
    en="All is computed in float32. The step is right, but there is nothing in half precision.",
    ru="Всё вычислено в float32. Шаг верен, но половинной точности нигде нет.",
)
def all_in_float32(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float32))


@step_in_half.mistake(
    en="The layers compute in bfloat16. It has the range of float32 and needs no scaler, but 8 digits instead of 11.",
    ru="Слои вычисляют в bfloat16. У него диапазон float32, и масштаб не нужен, но двоичных знаков 8 вместо 11.",
)
def in_bfloat16(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.bfloat16))


@step_in_half.mistake(
    en="The scaler is not used. Small gradients lose their digits in float16, and a step with infinite ones is made.",
    ru="Масштабирования нет. Малые градиенты теряют знаки в float16, а шаг с бесконечными всё-таки делается.",
)
def without_scaler(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    loss.backward()
    o.step()
    return loss.item()


@step_in_half.mistake(
    en="The optimizer steps by itself, with gradients that are still multiplied by the scale. `scaler.step(optimizer)` "
    "divides them first.",
    ru="Оптимизатор делает шаг сам, с градиентами, которые ещё умножены на масштаб. Вызов `scaler.step(optimizer)` сначала "
    "их делит.",
)
def steps_past_the_scaler(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    o.step()
    return loss.item()


@step_in_half.mistake(
    en="`scaler.update()` is missing: after infinite gradients the scale stays as it is.",
    ru="Нет вызова `scaler.update()`: после бесконечных градиентов масштаб остаётся прежним.",
)
def never_updates(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    o.zero_grad()
    s.scale(loss).backward()
    s.step(o)
    return loss.item()


@step_in_half.mistake(
    en="The weights are still in float16, so their gradients are, too, and the scaler refuses them.",
    ru="Веса по-прежнему в float16, поэтому и градиенты в float16, и снять с них масштаб нельзя.",
)
def half_weights(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    model.half()
    return _scaled_step(model, o, s, mse_loss(model(x.half()), y.half()).float())


@step_in_half.mistake(
    en="The weights go to float16 and back. The gradients pass the scaler then, but every weight was rounded: what a small "
    "step adds is lost the next time.",
    ru="Веса переведены в float16 и обратно. Градиенты теперь проходят, но каждый вес округлён: то, что прибавит маленький "
    "шаг, в следующий раз потеряется.",
)
def there_and_back(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    model.float()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The gradients are to become float32 while the weights are float16. A `.grad` has the dtype of its tensor.",
    ru="Градиенты переводятся в float32, а веса остались в float16. Но у `.grad` такой же тип, как у самого тензора.",
)
def casts_the_gradients(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    o.zero_grad()
    model.half()
    loss = mse_loss(model(x.half()).float(), y)
    s.scale(loss).backward()
    for p in model.parameters():
        p.grad = p.grad.float()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The old gradients are still in `.grad`: nothing clears them before the backward pass.",
    ru="В `.grad` остались старые градиенты: перед обратным проходом их ничто не обнуляет.",
)
def never_clears(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    loss = _loss(model, x, y, torch.float16)
    s.scale(loss).backward()
    s.step(o)
    s.update()
    return loss.item()


@step_in_half.mistake(
    en="The scaled loss is returned.",
    ru="Возвращено значение функции потерь, умноженное на масштаб.",
)
def returns_the_scaled_loss(model: Any, o: Optimizer, s: Scaler, x: Tensor, y: Tensor) -> float:
    return _scaled_step(model, o, s, _loss(model, x, y, torch.float16)) * _SCALE
