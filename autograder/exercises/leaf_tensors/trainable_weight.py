"""Core exercise: repair a weight that is no leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import flags, grad_fn_name, kind_of


@exercise(
    title=Text("A weight that is never trained", "Вес, который не обучается"),
    kind="find the bug",
    core=True,
    minutes=8,
    aspects=[
        aspect(
            "flags",
            2,
            en="What comes back is a leaf that requires grad: it has no `grad_fn`, and an optimizer takes it.",
            ru="Возвращается лист, который требует градиента: `grad_fn` у него нет, и оптимизатор его принимает.",
        ),
        aspect(
            "made",
            1,
            en="It is 0.01 times `values`, with the shape of `values` and the dtype and the device that were asked "
            "for.",
            ru="Это тензор `values`, умноженный на 0.01; форма та же, что у `values`, а dtype и устройство — заданные.",
        ),
        aspect(
            "input",
            1,
            en="`values` is as it was: the same numbers, and it does not require grad.",
            ru="Тензор `values` остался прежним: те же числа, и градиента он не требует.",
        ),
    ],
    hints=[
        Text(
            "Keep the result in a variable and print its `grad_fn`. Which line made it, and where is the leaf?",
            "Сохраните результат в переменной и напечатайте её `grad_fn`. Какая строка создала этот тензор и где "
            "остался лист?",
        ),
        Text(
            "Everything after `requires_grad_()` is recorded. So what has to come first?",
            "Всё, что идёт после `requires_grad_()`, записывается. Что же должно идти раньше?",
        ),
        Text(
            "w = (values * 0.01).to(...)\nreturn ...",
            "w = (values * 0.01).to(...)\nreturn ...",
        ),
    ],
)
def trainable_weight(answer: Any, case: Case) -> dict[str, object]:
    weight = answer.trainable_weight(case.values, case.dtype, case.device)
    seen: dict[str, object] = {"returned": kind_of(weight), **flags("weight", weight)}
    made: dict[str, object] = {}
    if isinstance(weight, Tensor):
        seen |= {"weight.grad_fn": grad_fn_name(weight), "weight.retains_grad": weight.retains_grad}
        made = {"weight.dtype": str(weight.dtype), "weight.device": weight.device.type}
        made |= {"weight.shape": str(tuple(weight.shape)), "weight": None if weight.is_meta else weight}
    else:
        seen |= {"weight.grad_fn": None, "weight.retains_grad": None}
    return {
        "flags": seen,
        "made": made,
        "input": {"values": case.values.detach(), "values.requires_grad": case.values.requires_grad},
    }


@trainable_weight.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(values=signed(rng, 2, 3).float(), dtype=torch.float64, device="cpu")
    yield Case(values=signed(rng, 4), dtype=torch.float64, device="cpu")  # nothing to cast or move
    yield Case(values=signed(rng, 3, 2), dtype=torch.float16, device="meta")  # available on every machine


@trainable_weight.mistake(
    en="What comes back is still a result: the leaf is made first, and the product or the cast comes after it. A later "
    "`requires_grad_()` changes nothing about a result.",
    ru="Возвращается по-прежнему результат операции: лист создан раньше, а умножение или приведение типа идёт после "
    "него. Если потом вызвать `requires_grad_()`, результат листом не станет.",
)
def asks_a_result(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="The weight is scaled after it began to require grad. The product is a result; the leaf that the gradient goes "
    "to is the tensor before it.",
    ru="Вес умножается, когда он уже требует градиента. Произведение — результат операции; лист, в который попадёт "
    "градиент, — это исходный тензор, а не произведение.",
)
def scales_a_leaf(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_() * 0.01


@trainable_weight.mistake(
    en="The weight is cast or moved after it began to require grad. Where there is something to do, `.to` returns a "
    "new tensor, and that one is no leaf.",
    ru="Тип или устройство меняются, когда вес уже требует градиента. Если менять есть что, метод `.to` возвращает "
    "новый тензор, и он не листовой.",
)
def moves_a_leaf(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).requires_grad_().to(device=device, dtype=dtype)


@trainable_weight.mistake(
    en="`retain_grad()` was called to make a leaf. It keeps the gradient of a result, but a result stays a result: a "
    "step would not change the tensor it is computed from.",
    ru="Метод `retain_grad()` вызван, чтобы сделать тензор листом. Он сохраняет градиент результата, но результат "
    "остаётся результатом: тензор, из которого он вычислен, шаг не изменит.",
)
def retains_instead(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    weight = (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype)
    weight.retain_grad()
    return weight


@trainable_weight.mistake(
    en="`values` itself was made to require grad. The leaf is the caller's tensor then, and what comes back is a "
    "result.",
    ru="Флаг включён у самого `values`. Поэтому лист — тензор вызывающего кода, а возвращается результат операции.",
)
def tracks_the_input(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.requires_grad_() * 0.01).to(device=device, dtype=dtype)


@trainable_weight.mistake(
    en="The history was cut, and the flag went with it. The result is a leaf, but a constant: it was not asked to "
    "require grad.",
    ru="Вместе с историей потерялся и флаг. Результат листовой, но это константа: градиента он не требует.",
)
def loses_the_flag(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).detach()


@trainable_weight.mistake(
    en="The weight is scaled in place while it requires grad. Autograd refuses that for a leaf.",
    ru="Вес умножается на месте, когда он уже требует градиента. Для листа autograd это запрещает.",
)
def scales_in_place(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_().mul_(0.01)


@trainable_weight.mistake(
    en="The weight has the dtype and the device of `values`, not those that were asked for.",
    ru="У веса dtype и устройство те же, что у `values`, а не заданные.",
)
def stays_where_it_was(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).requires_grad_()


@trainable_weight.mistake(
    en="The dtype that was asked for is ignored.",
    ru="Заданный dtype не учтён.",
)
def ignores_the_dtype(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).to(device).requires_grad_()


@trainable_weight.mistake(
    en="The device that was asked for is ignored.",
    ru="Заданное устройство не учтено.",
)
def ignores_the_device(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).to(dtype).requires_grad_()


@trainable_weight.mistake(
    en="`values` was asked to require grad as well. The weight is right, but the caller's tensor is no longer a "
    "constant.",
    ru="Флаг включён и у самого `values`. Вес верен, но тензор вызывающего кода больше не константа.",
)
def tracks_the_caller(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.requires_grad_().detach() * 0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="The scaling by 0.01 is missing.",
    ru="Потеряно умножение на 0.01.",
)
def forgets_the_scale(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_()


@trainable_weight.mistake(
    en="`values` itself was scaled in place. The caller's data may not be changed.",
    ru="Сам тензор `values` умножен на месте. Данные вызывающего кода менять нельзя.",
)
def scales_the_input(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.mul_(0.01).to(device=device, dtype=dtype, copy=True).requires_grad_()


@trainable_weight.mistake(
    en="The weight gets its numbers, dtype and device through `.data`. Torch refuses that between devices as different "
    "as `cpu` and `meta`; the leaf has to be made where it is to live.",
    ru="Числа, dtype и устройство вес получает через `.data`. Между такими разными устройствами, как `cpu` и `meta`, "
    "torch это запрещает: лист нужно создавать сразу на том устройстве, где он нужен.",
)
def assigns_its_data(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    weight = values.clone().requires_grad_()
    weight.data = (values * 0.01).to(device=device, dtype=dtype)
    return weight


@trainable_weight.mistake(*trainable_weight.mistakes["scales_the_input"].says)
def scales_and_tracks_the_input(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.mul_(0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="`values` itself was scaled in place: with nothing to convert `.to(...)` returns the very tensor that it was "
    "called on.",
    ru="Сам тензор `values` умножен на месте: если менять нечего, `.to(...)` возвращает тот самый тензор, для которого "
    "вызван.",
)
def scales_what_to_returned(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype).mul_(0.01).requires_grad_()


@trainable_weight.mistake(
    en="The weight is 0.1 times `values`. Asked for is 0.01.",
    ru="Вес равен `values`, умноженному на 0.1, а нужно на 0.01.",
)
def scales_by_a_tenth(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.1).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="The weight is always float64, whatever dtype was asked for: that one goes to `.to(...)`.",
    ru="Вес всегда получается float64, а в `.to(...)` нужно передать заданный dtype.",
)
def casts_to_float64(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).double().to(device).requires_grad_()


@trainable_weight.mistake(
    en="The weight is always float32, whatever dtype was asked for: that one goes to `.to(...)`.",
    ru="Вес всегда получается float32, а в `.to(...)` нужно передать заданный dtype.",
)
def casts_to_float32(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).float().to(device).requires_grad_()


@trainable_weight.mistake(
    en="Nothing is returned: the `return` is missing.",
    ru="Ничего не возвращается: забыт `return`.",
)
def returns_nothing(values: Tensor, dtype: torch.dtype, device: str) -> None:
    (values * 0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="The weight is flat. It needs the shape of `values`.",
    ru="Вес вытянут в строку. У него должна быть форма тензора `values`.",
)
def flattens(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.flatten() * 0.01).to(device=device, dtype=dtype).requires_grad_()
