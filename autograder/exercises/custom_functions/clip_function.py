"""Extra exercise: a second output that has no gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import EACH_CALL, apply_custom, gradients, observe_state, same_numbers


@exercise(
    title=Text("A second output without a gradient", "Второй выход без градиента"),
    kind="complete",
    asks="Clip",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        EACH_CALL,
        aspect(
            "outputs",
            1,
            en="`Clip.apply(x)` returns the clipped tensor and the share of entries outside [−1, 1], both in the dtype "
            "of `x`.",
            ru="`Clip.apply(x)` возвращает обрезанный тензор и долю элементов вне [−1, 1]; dtype обоих тот же, что "
            "у `x`.",
        ),
        aspect(
            "gradient",
            1,
            en="The gradient of `x` is `grad_output` where `x` lies in [−1, 1] and 0 elsewhere; `grad_output` itself "
            "stays as it was.",
            ru="Градиент по `x` равен `grad_output` там, где `x` лежит на отрезке [−1, 1], а в остальных точках — "
            "нулю; сам тензор `grad_output` не меняется.",
        ),
        aspect(
            "share_is_constant",
            1,
            en="The clipped tensor requires grad, the share does not.",
            ru="Обрезанный тензор требует градиента, доля — нет.",
        ),
    ],
    hints=[
        Text(
            "How many arguments does `backward` get after `ctx`, when `forward` has two outputs?",
            "Сколько аргументов после `ctx` получает `backward`, если у `forward` два выхода?",
        ),
        Text(
            "`ctx.mark_non_differentiable(share)` in `forward`. `backward` still gets a gradient for it, and ignores it. "
            "Inside `forward` a `detach()` changes nothing: recording is off anyway.",
            "`ctx.mark_non_differentiable(share)` в `forward`. Градиент для этого выхода `backward` всё равно "
            "получает, но не использует. Вызов `detach()` внутри `forward` ничего не меняет: отслеживание и так "
            "выключено.",
        ),
        Text.same(
            "inside = x.abs() <= 1\nshare = ...\nctx.mark_non_differentiable(...)\nreturn x.clamp(-1, 1), share\n\n"
            "def backward(ctx, grad_clipped, grad_share): ..."
        ),
    ],
)
def clip_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    requires: dict[str, object] = {}
    with using_answer():
        y = apply_custom(answer.Clip, x)
        gradient = gradients(y[0] if isinstance(y, tuple) and y else y, [x], v)[0]
        start = case.x.clone().requires_grad_()
        each, second = observe_state(answer.Clip, start, v=case.grad_output, found=[gradient])
        outputs: dict[str, object] = {"what came back": y}
        if isinstance(y, tuple) and len(y) == 2:
            outputs = {"clipped": y[0], "share": y[1], **second}
            pair = zip(("clipped", "share"), y)
            requires = {f"{name} requires grad": isinstance(t, Tensor) and t.requires_grad for name, t in pair}
    found = {"gradient": gradient, "grad_output unchanged": same_numbers(v, case.grad_output)}
    return {"each_call": each, "outputs": outputs, "gradient": found, "share_is_constant": requires}


@clip_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 4)
    x[0] = torch.tensor([0.25, -0.5, -1.75, -1.0])
    x[1, 3] = 1.0
    yield Case(x=x, grad_output=signed(rng, 4, 2).T)
    yield Case(x=torch.tensor([0.75, -2.0, 3.0, -0.5, 1.5, 2.0, -1.25]), grad_output=signed(rng, 7).float())
