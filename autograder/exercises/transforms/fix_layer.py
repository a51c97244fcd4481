"""Exercise: a Function whose backward pass does not know of autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.counted_run import dtypes_of, recording_products
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import require_function, result_or_error


@exercise(
    title=Text("A Function under autocast", "Функция внутри autocast"),
    kind="find the bug",
    asks="Layer",
    asks_for="class",
    difficulty=2,
    rtol=0.05,
    aspects=[
        aspect(
            "plain",
            0,
            en="Without autocast the value and the first two derivatives are right.",
            ru="Без autocast верны значение и обе производные, первая и вторая.",
        ),
        aspect(
            "region",
            1.5,
            en="Forward in a region, backward outside of it: the products of both are in bfloat16, the gradients are right "
            "and in float32.",
            ru="Прямой проход внутри области, обратный — снаружи: и там и там произведения вычисляются в bfloat16, а "
            "градиенты верны и имеют тип float32.",
        ),
        aspect(
            "both_inside",
            0.5,
            en="It is the same with the backward pass inside the region.",
            ru="То же верно и тогда, когда обратный проход идёт внутри области.",
        ),
        aspect(
            "backward_inside",
            1,
            en="Forward outside, backward inside a region: the products of both are in float32.",
            ru="Прямой проход снаружи, обратный — внутри области: и там и там произведения вычисляются в float32.",
        ),
    ],
    hints=[
        Text(
            "In which dtype does `x @ w` run in `forward`, and in which in `backward`, when the region has ended?",
            "В каком типе выполняется `x @ w` в `forward` и в каком — в `backward`, когда область уже закончилась?",
        ),
        Text(
            "`torch.amp.custom_fwd` notes whether autocast was on; `torch.amp.custom_bwd` switches it to the same for "
            "`backward`.",
            "`torch.amp.custom_fwd` запоминает, был ли включён autocast, а `torch.amp.custom_bwd` переключает его в то же "
            "состояние для `backward`.",
        ),
        Text.same(
            '@staticmethod\n@custom_fwd(device_type="cpu")\ndef forward(ctx, x, w):\n    ...\n\n@staticmethod\n@...\n'
            "def backward(ctx, grad_output):\n    ..."
        ),
    ],
)
def fix_layer(answer: Any, case: Case) -> dict[str, object]:
    function = answer.Layer
    require_function(function)
    with using_answer():
        x, w = case.x.double().requires_grad_(), case.w.double().requires_grad_()
        y = function.apply(x, w)
        _ = call_with_other_numbers(y, function.apply, x, w)
        first = torch.autograd.grad((y**2).sum(), (x, w), create_graph=True)
        second = result_or_error(lambda: list(torch.autograd.grad([(g**2).sum() for g in first], (x, w))))
        plain = {"value": y, "gradients": list(first), "second derivative": second}
        return {
            "plain": plain,
            "region": _observe(function, case.x, case.w, forward=True, backward=False),
            "both_inside": _observe(function, case.x, case.w, forward=True, backward=True),
            "backward_inside": _observe(function, case.x, case.w, forward=False, backward=True),
        }


def _observe(function: Any, x: Tensor, w: Tensor, *, forward: bool, backward: bool) -> Any:
    """Observe the passes of a Function, each inside or outside a region of autocast."""

    def passes() -> dict[str, object]:
        leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()]
        with _region(forward), recording_products() as there:
            y = function.apply(*leaves)
        with _region(backward), recording_products() as back:
            gradients = torch.autograd.grad(y, leaves, torch.ones_like(y))
        kinds = {"products in forward": dtypes_of(there), "products in backward": dtypes_of(back)}
        return {**kinds, "value": y.float(), "gradients": list(gradients)}

    return result_or_error(passes)


def _region(on: bool) -> Any:
    return torch.autocast("cpu", torch.bfloat16) if on else nullcontext()


@fix_layer.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for n, inputs, outputs in ((2, 3, 2), (1, 4, 3)):
        yield Case(x=signed(rng, n, inputs).float() / 4, w=signed(rng, inputs, outputs).float() / 4)
