"""Exercise: a Function that works on the CPU alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text

from .common import EACH_CALL, apply, gradients, observe_first, result_or_error


@exercise(
    title=Text("Right on the CPU alone", "Верно только на CPU"),
    kind="find the bug",
    asks="Gray",
    asks_for="class",
    difficulty=2,
    aspects=[
        EACH_CALL,
        aspect(
            "numbers",
            0.5,
            en="The result is the weighted sum of the three colours, and the gradient is `grad_output` times the weights.",
            ru="Результат — взвешенная сумма трёх цветов, а градиент равен `grad_output`, умноженному на веса.",
        ),
        aspect(
            "grad_output_after",
            0.5,
            en="`backward` leaves the tensor `grad_output` as it was.",
            ru="Метод `backward` не меняет тензор `grad_output`.",
            after=("each_call", "numbers"),
        ),
        works_on(3, after=("each_call", "numbers")),
    ],
    hints=[
        Text(
            "Which tensors does the class make by itself, and on which device do they lie?",
            "Какие тензоры создаёт сам класс и на каком устройстве они лежат?",
        ),
        Text(
            "Two tensors are made on the CPU, one in `forward`'s way and one in that of `backward`. And a class is shared "
            "by all calls: what would a call on the CPU find that comes between the two passes of a call on a GPU?",
            "На CPU создаются два тензора: один мешает методу `forward`, другой — методу `backward`. Кроме того, класс у "
            "всех вызовов общий: что найдёт вызов на CPU, если он придётся между прямым и обратным проходами вызова на GPU?",
        ),
        Text.same(
            "weights = torch.tensor([0.299, 0.587, 0.114], dtype=x.dtype, device=...)\nctx.save_for_backward(...)\n"
            "return (x * weights).sum(-1)"
        ),
    ],
)
def fix_gray(answer: Any, case: Case) -> dict[str, object]:
    return observe_first(answer.Gray, case, "numbers")


@fix_gray.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.requires_grad_()
    y = apply(answer.Gray, x)
    gradient = _named("in backward", lambda: gradients(y, [x], case.grad_output)[0])
    turns: object = None
    if isinstance(gradient, Tensor):
        turns = _named("in turns with the CPU", lambda: _take_turns(answer.Gray, x, case.grad_output))
    return {"y": y, "gradient": gradient, "turns": turns}


def _named(where: str, call: Any) -> object:
    """Return what `call()` returns, or its error with the words `where` in the text that is compared."""
    found = result_or_error(call)
    if not isinstance(found, Caught):
        return found
    kind, _, said = found.text.partition(": ")
    return replace(found, text=f"{kind}: {where}: {said}")


def _take_turns(function: Any, x: Tensor, v: Tensor) -> Tensor | None:
    """Return the gradient of a call, between whose passes another call runs on the CPU."""
    y = apply(function, x)
    here = x.detach().cpu().requires_grad_()
    gradients(apply(function, here), [here], v.cpu())
    return gradients(y, [x], v)[0]


@fix_gray.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), grad_output=signed(rng, 2))
    yield Case(x=signed(rng, 2, 4, 3), grad_output=signed(rng, 4, 2).T)
    yield Case(x=signed(rng, 3), grad_output=signed(rng))
