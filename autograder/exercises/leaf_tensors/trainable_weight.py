"""Exercise: repair a weight that is no leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import flags, grad_fn_name, kind_of


@exercise(
    title=Text("A weight that is never trained", "Вес, который не обучается"),
    kind="find the bug",
    core=True,
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
        Text.same("w = (values * 0.01).to(...)\nreturn ..."),
    ],
    why=Why(
        Text(
            "Why does the flag `requires_grad` belong at the very end, after product and cast?",
            "Почему `requires_grad` включают в самом конце, после умножения и приведения типа?",
        ),
        Text(
            "Once a tensor requires grad, what a product or cast makes of it is a result, and its gradient goes "
            "to the tensor before. Set last, the flag falls on the tensor that comes back.",
            "Когда тензор уже требует градиента, новый тензор после умножения или приведения типа — результат с "
            "историей, и градиент уходит к исходному. Если включить флаг последним, листом будет тот тензор, "
            "который возвращается.",
        ),
    ),
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
    yield Case(values=signed(rng), dtype=torch.float16, device="meta")  # available on every machine
