"""Exercise: two backward passes through one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.counted_run import another, condense
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import BACKWARD_PASSES, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import counting_backward_runs, live_bytes

from .common import FLOAT64, ROWS, WIDTH


def _loss(value: object) -> object:
    """Return a loss as a Python number. The loss is a number, or a tensor or array with one number."""
    return number(torch.as_tensor(value, dtype=FLOAT64))


def _can_go_again(loss: object, w: Tensor) -> bool:
    """Return whether another backward pass from `loss` to `w` is possible."""
    if not isinstance(loss, Tensor) or not loss.requires_grad:
        return False
    try:
        torch.autograd.grad(loss, w, retain_graph=True, allow_unused=True)
    except RuntimeError:
        return False
    return True


def _measure_left(answer: Callable[..., object], rng: torch.Generator) -> AtMost:
    """Return the bytes that stay in memory after a call of an answer, with a limit.

    The returned pair does not count, because the result of `mse_loss` can hold memory as large as its input. The limit
    allows `.grad`, and a quarter of the hidden activation of 64 x 32 numbers. A graph that is still alive holds the
    whole activation.
    """
    w = (0.2 * signed(rng, 4, WIDTH)).requires_grad_()
    x, y = signed(rng, ROWS, 4), uniform(rng, ROWS, WIDTH)
    with live_bytes() as live:
        held = answer(w, x, y, 0.5)
        left = live.now
    with using_answer():
        pair = {each.untyped_storage() for each in held if isinstance(each, Tensor)}  # type: ignore[attr-defined]
        left -= sum(storage.nbytes() for storage in pair)
        result = [_loss(each) for each in held], condense(w.grad)  # type: ignore[attr-defined]
    return AtMost(limit=(4 * WIDTH + ROWS * WIDTH // 4) * 8, used=left, of=result)


@exercise(
    title=Text("Two losses, one graph", "Две функции потерь, один граф"),
    kind="find the bug",
    difficulty=2,
    shows_graph=True,
    aspects=[
        aspect(
            "untouched",
            0,
            en="`w`, `x` and `y` hold what they held before the call.",
            ru="В `w`, `x` и `y` лежит то же, что до вызова.",
        ),
        aspect(
            "losses",
            0,
            en="The pair that comes back holds the values of the two losses.",
            ru="В возвращаемой паре — значения двух функций потерь.",
        ),
        aspect(
            "gradient",
            1,
            en="`w.grad` equals the gradient of `fit + share * size`.",
            ru="В `w.grad` лежит градиент `fit + share * size`.",
        ),
        aspect(
            "backward_runs",
            1,
            en="Autograd makes one backward pass for both losses.",
            ru="Для обеих функций потерь сделан один обратный проход autograd.",
            after=("untouched", "losses", "gradient"),
            measured=BACKWARD_PASSES,
        ),
        aspect(
            "left",
            2,
            en="After the call nothing that the graph has saved is in memory, although the pair that came back still is. "
            "The check counts bytes on inputs of 64 rows.",
            ru="После вызова в памяти нет ничего из того, что сохранил граф, хотя возвращённая пара ещё хранится. "
            "Считаются байты на входах из 64 строк.",
            after=("untouched", "losses", "gradient"),
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "Gradients are linear. What single number has the gradient that you want?",
            "Градиент линеен. Градиент какого одного скаляра вам и нужен?",
        ),
        Text(
            "`retain_graph=True` keeps what the graph has saved: a further pass will need it. After the last pass "
            "there is none.",
            "`retain_graph=True` не даёт освободить то, что сохранил граф: это понадобится следующему проходу. Но за "
            "последним проходом следующего нет.",
        ),
        Text.same("h = torch.tanh(x @ w)\nfit, size = ...\n(...).backward()\nreturn fit, size"),
    ],
    why=Why(
        Text(
            "Why does one pass from the weighted sum give the gradient of both losses?",
            "Почему на обе функции потерь хватает одного прохода от взвешенной суммы?",
        ),
        Text(
            "The gradient of a sum is the sum of the gradients. Where the losses share a part of the graph, "
            "their gradients meet, are added, and go on together, once.",
            "Градиент суммы равен сумме градиентов. Там, где граф у функций потерь общий, их градиенты "
            "встречаются, складываются и дальше идут вместе, один раз.",
        ),
    ),
)
def fix_two_losses(answer: Any, case: Case) -> dict[str, object]:
    with counting_backward_runs() as runs:
        pair = answer.fix_two_losses(case.w, case.x, case.y, case.share)
    with using_answer():
        fit, size = pair
        losses = {"fit": _loss(fit), "size": _loss(size)}
        gradient = None if case.w.grad is None else case.w.grad.clone()
        again = [_can_go_again(fit, case.w), _can_go_again(size, case.w)]
    return {
        "untouched": {"w": case.w, "x": case.x, "y": case.y, "w.requires_grad": case.w.requires_grad},
        "losses": losses,
        "gradient": gradient,
        "goes_again": again,
        "gradient_has_graph": gradient is not None and gradient.requires_grad,
        "backward_runs": runs.times,
        "left": _measure_left(answer.fix_two_losses, case.rng),
    }


@fix_two_losses.weigh("left", most=89 << 20)
def weigh(answer: Callable[..., object], rng: torch.Generator) -> object:
    """Call the answer four times, and keep what it returns. A graph holds one activation of 8 MB."""
    x, y = signed(rng, 32 * 1024, 4), uniform(rng, 32 * 1024, WIDTH)
    leaves = [(0.2 * signed(rng, 4, WIDTH)).requires_grad_() for _ in range(4)]
    held = [answer(w, x, y, 0.5) for w in leaves]
    return [[[_loss(each) for each in pair], w.grad] for pair, w in zip(held, leaves)]  # type: ignore[attr-defined]


@fix_two_losses.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rows, width, share in ((5, 2, 0.25), (3, 4, 3.0)):
        w = (0.2 * signed(rng, 3, width)).requires_grad_()
        x, y = signed(rng, rows, 3), uniform(rng, rows, width)
        yield Case(w=w, x=x, y=y, share=share, rng=another(rng))
