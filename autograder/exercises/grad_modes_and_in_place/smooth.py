"""Exercise: repair a recurrence that edits its result in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.answer_calls import call_with_other_numbers
from autograder.checking.counted_run import another, condense
from autograder.checking.devices.device_run import gradients_there, works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform, with_old_gradient
from autograder.checking.labels import BYTES_KEPT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import graph_nodes, saved_bytes

from .common import EDIT_ERROR


def _without_numbers(error: Exception) -> str:
    """Return the text of an error with each number replaced by "#"."""
    return re.sub(r"\d+", "#", str(error))


def _measure_saved(smoothing: Callable[[Tensor, Tensor], Tensor], rng: torch.Generator) -> tuple[AtMost, str]:
    """Return the bytes that an answer saves, with a limit, and how it goes through the rows.

    There are 64 rows of 4 numbers. A right answer saves each row once. An answer that saves all rows at each step saves
    64 times as much, a matrix with a weight for each pair of rows 16 times as much. The limit is 4 times the size of
    `x`.
    """
    x, a = leaf(rng, 64, 4), (leaf(rng).detach() / 3).requires_grad_()
    with saved_bytes(known=[x, a]) as saved:
        y = smoothing(x, a)
        held = saved.now
    rows = "one by one" if len(graph_nodes(y)) > len(x) else "all at once"
    result = condense([y, *torch.autograd.grad(y.sum(), [x, a], materialize_grads=True)])
    return AtMost(limit=4 * x.numel() * 8, used=held, of=result), rows


@exercise(
    title=Text("Averages with a weight that learns", "Средние с весом, который обучается"),
    kind="find the bug",
    difficulty=2,
    shows_graph=True,
    aspects=[
        aspect(
            "y",
            1,
            en="`y` holds the averages.",
            ru="В `y` лежат средние.",
        ),
        aspect(
            "gradients",
            1.5,
            en="Backward from `y` runs, the gradients of `x` and of `a` are those of the whole recurrence, and "
            "`smooth` itself puts nothing into `.grad`.",
            ru="Обратный проход от `y` выполняется, градиенты тензоров `x` и `a` верны с учётом всех шагов, а сама "
            "функция `smooth` ничего не пишет в `.grad`.",
        ),
        aspect(
            "saved",
            1,
            en="The graph keeps at most 4 tensors of the size of `x` (bytes; for 64 rows of 4 numbers).",
            ru="Граф хранит не больше 4 тензоров размером с `x` (байты; для 64 строк по 4 числа).",
            after=("y", "gradients"),
            measured=BYTES_KEPT,
        ),
        works_on(
            0.5,
            after=(
                "y",
                "gradients",
            ),
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Which operation needs `y[t - 1]` later, and for whose gradient? What happens to its memory in between?",
            "Какой операции позже понадобится `y[t - 1]` и ради чьего градиента? Что до этого происходит с памятью "
            "этой строки?",
        ),
        Text(
            "All rows of `y` share one memory and one version counter. Rows with memory of their own would not disturb "
            "each other.",
            "У всех строк `y` общая память и общий счётчик версий. Строки с собственной памятью друг другу не мешали "
            "бы.",
        ),
        Text.same(
            "def smooth(x, a):\n"
            "    rows = [x[0]]\n"
            "    for t in range(1, len(x)):\n"
            "        rows.append(a * ... + (1 - a) * x[t])\n"
            "    return ..."
        ),
    ],
    why=Why(
        Text(
            "Why does the given code fail only when `a` requires grad?",
            "Почему исходный код даёт ошибку, только если `a` требует градиента?",
        ),
        Text(
            "For the gradient of `a` each product saves the previous row, a view that shares its version counter "
            "with all of `y`. The next write into `y` raises that counter.",
            "Для градиента `a` произведение сохраняет предыдущую строку — представление с общим на весь `y` "
            "счётчиком версий. Следующая запись в `y` этот счётчик увеличивает.",
        ),
    ),
)
def smooth(answer: Any, case: Case) -> dict[str, object]:
    y = answer.smooth(case.x, case.a)
    seen: dict[str, object] = {"y": y}
    left = {"x.grad": case.x.grad, "a.grad": case.a.grad}
    with using_answer():
        if isinstance(y, Tensor) and y.shape == case.x.shape:
            direction = uniform(torch.Generator().manual_seed(2), *case.x.shape).to(case.x)
            found: Sequence[Tensor | None] = (None, None)
            try:
                if y.requires_grad:
                    _ = call_with_other_numbers(y, answer.smooth, case.x, case.a)
                    found = torch.autograd.grad((y * direction).sum(), [case.x, case.a], materialize_grads=True)
            except RuntimeError as error:
                refused = EDIT_ERROR if EDIT_ERROR in str(error) else str(error)
                return seen | {"gradients": dict.fromkeys(("x", "a"), refused) | left, "error": _without_numbers(error)}
            seen |= {"gradients": dict(zip(("x", "a"), found)) | left, "saved": AtMost(limit=0, used=0)}
            if case.rng:  # measured on a tensor of its own, so one case is enough
                seen["saved"], seen["rows"] = _measure_saved(answer.smooth, case.rng)
    return seen


@smooth.weigh("saved", most=68 << 20)
def weigh(smoothing: Callable[[Tensor, Tensor], Tensor], rng: torch.Generator) -> object:
    """Smooth two tensors of 2048 rows, and keep the results.

    A weight for each pair of rows takes 33 MB a tensor.
    """
    inputs = [leaf(rng, 2048, 1) for _ in range(2)]
    a = (leaf(rng).detach() / 3).requires_grad_()
    results = [smoothing(x, a) for x in inputs]
    return [results, torch.autograd.grad([y.sum() for y in results], [*inputs, a])]


@smooth.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.detach()[:2].requires_grad_()
    y = answer.smooth(x, case.a)
    return {"y": y, "gradients": gradients_there(y, [x, case.a])}


@smooth.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for shape, dtype in [((5, 3), torch.float64), ((4, 2), torch.float32), ((1, 4), torch.float64)]:
        # The rows grow, so that the terms of the gradient of `a` have one sign: float32 loses digits in a small sum.
        x = uniform(rng, *shape).abs().cumsum(0).to(dtype).requires_grad_()
        a = (leaf(rng).detach() / 3).to(dtype).requires_grad_()
        yield Case(x=x, a=a, rng=another(rng) if len(x) == 1 else None)
    x = signed(rng, 4, 3).requires_grad_()
    a = torch.zeros((), dtype=torch.float64, requires_grad=True)
    yield Case(x=with_old_gradient(x), a=with_old_gradient(a), rng=None)
