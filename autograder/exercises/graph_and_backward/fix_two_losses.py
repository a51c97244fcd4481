"""Core exercise: two backward passes through one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed, uniform
from autograder.checking.labels import BACKWARD_PASSES, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, number
from autograder.language import Text
from autograder.measure import counting_backward_runs, live_bytes

from .common import FLOAT64, ROWS, WIDTH

TwoLosses = tuple[Tensor, Tensor]


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


def _measure_left(answer: Callable[..., object]) -> AtMost:
    """Return the bytes that stay in memory after a call of an answer, with a limit.

    The returned pair does not count, because the result of `mse_loss` can hold memory as large as its input. The limit
    allows `.grad`, and a quarter of the hidden activation of 64 x 32 numbers. A graph that is still alive holds the
    whole activation.
    """
    w = torch.full((4, WIDTH), 0.1, dtype=FLOAT64, requires_grad=True)
    x, y = torch.ones(ROWS, 4, dtype=FLOAT64), torch.zeros(ROWS, WIDTH, dtype=FLOAT64)
    with live_bytes() as live:
        held = answer(w, x, y, 0.5)
        left = live.now
    with using_answer():
        pair = {each.untyped_storage() for each in held if isinstance(each, Tensor)}  # type: ignore[attr-defined]
        left -= sum(storage.nbytes() for storage in pair)
    return AtMost(limit=(4 * WIDTH + ROWS * WIDTH // 4) * 8, used=left)


@exercise(
    title=Text("Two losses, one graph", "Две функции потерь, один граф"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
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
            "Counted are bytes on inputs of 64 rows.",
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
        Text(
            "h = torch.tanh(x @ w)\nfit, size = ...\n(...).backward()\nreturn fit, size",
            "h = torch.tanh(x @ w)\nfit, size = ...\n(...).backward()\nreturn fit, size",
        ),
    ],
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
        "untouched": {"w": case.w, "x": case.x, "y": case.y},
        "losses": losses,
        "gradient": gradient,
        "goes_again": again,
        "gradient_has_graph": gradient is not None and gradient.requires_grad,
        "backward_runs": runs.times,
        "left": _measure_left(answer.fix_two_losses),
    }


@fix_two_losses.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rows, width, share in ((5, 2, 0.25), (3, 4, 3.0)):
        w = (0.2 * signed(rng, 3, width)).requires_grad_()
        yield Case(w=w, x=signed(rng, rows, 3), y=uniform(rng, rows, width), share=share)


def _losses(w: Tensor, x: Tensor, y: Tensor) -> TwoLosses:
    h = torch.tanh(x @ w)
    return ((h - y) ** 2).mean(), (h**2).mean()


@fix_two_losses.mistake(
    en="`retain_graph=True` was dropped, but there are still two passes: what the second needs is freed.",
    ru="Аргумент `retain_graph=True` убран, а проходов по-прежнему два: к началу второго сохранённое уже освобождено.",
)
def second_pass_raises(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward()  # type: ignore[no-untyped-call]
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="There are still two backward passes: the part of the graph that the losses share is gone through twice, or was "
    "even made twice.",
    ru="Обратных проходов по-прежнему два: общую часть графа проходят дважды или даже дважды строят.",
)
def retains_for_the_first(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="There is one pass now, but all saved values stay as long as one of the losses is alive: the pass kept its "
    "graph (`retain_graph=True`, `create_graph=True`), or the losses come from a second forward pass.",
    ru="Проход теперь один, но, пока жив хотя бы один из двух тензоров потерь, остаётся всё сохранённое: граф не "
    "освобождён (`retain_graph=True`, `create_graph=True`), или потери взяты из второго прямого прохода.",
)
def retains_out_of_habit(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(retain_graph=True)  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="The second loss went in without its weight `share`.",
    ru="Вторая функция потерь вошла в сумму без множителя `share`.",
)
def forgets_the_share(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, size])
    return fit, size


@fix_two_losses.mistake(
    en="`w.grad` has the gradient of the first loss alone: there is no backward pass from the second, or it is cut off "
    "from `w`.",
    ru="В `w.grad` лежит градиент только первой функции потерь: от второй обратного прохода нет или она отсоединена от "
    "`w`.",
)
def first_loss_only(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    fit.backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="The gradient of the second loss alone is left: that of the first was cleared or never computed.",
    ru="Остался градиент только второй функции потерь: градиент первой стёрт или не вычислен.",
)
def second_loss_only(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (share * size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="Only the wording has changed: there are still two backward passes, and each of them keeps what the graph has "
    "saved.",
    ru="Изменилась только запись: обратных проходов по-прежнему два, и ни один не даёт освободить то, что сохранил "
    "граф.",
)
def retains_for_both(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (share * size).backward(retain_graph=True)  # type: ignore[no-untyped-call]
    fit.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="The two values were returned in the wrong order.",
    ru="Два значения возвращены не в том порядке.",
)
def swaps_the_pair(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()  # type: ignore[no-untyped-call]
    return size, fit


@fix_two_losses.mistake(
    en="`share * size` was returned in place of `size`.",
    ru="Вместо `size` возвращено `share * size`.",
)
def returns_the_weighted_size(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward()  # type: ignore[no-untyped-call]
    return fit, share * size


@fix_two_losses.mistake(
    en="`share` was applied twice.",
    ru="Множитель `share` применён дважды.",
)
def applies_the_share_twice(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.backward([fit, share * size], [None, torch.full_like(size, share)])
    return fit, size


@fix_two_losses.mistake(
    en="The gradient does not get into `w.grad`: `torch.autograd.grad` returns it and leaves `.grad` alone.",
    ru="Градиент не попадает в `w.grad`: функция `torch.autograd.grad` возвращает его, а `.grad` не меняет.",
)
def leaves_grad_empty(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    torch.autograd.grad(fit + share * size, w)
    return fit, size


@fix_two_losses.mistake(
    en="The gradient is right, but it was computed by hand: one backward pass of autograd is asked for, and there is "
    "none.",
    ru="Градиент верен, но вычислен вручную: обратного прохода autograd не было, а нужен один.",
)
def computes_it_by_hand(w: Tensor, x: Tensor, y: Tensor, share: float) -> tuple[float, float]:
    with torch.no_grad():
        h = torch.tanh(x @ w)
        fit, size = _losses(w, x, y)
        w.grad = x.T @ (2 * (h - y + share * h) / h.numel() * (1 - h**2))
    return fit.item(), size.item()


@fix_two_losses.mistake(
    en="The backward pass starts from the average of the two losses, not from their sum: the gradient is half of it.",
    ru="Обратный проход начат от среднего двух значений функций потерь, а не от их суммы: градиент вдвое меньше.",
)
def averages_the_losses(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    ((fit + share * size) / 2).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="`share` multiplies the first loss, not the second.",
    ru="На `share` умножена первая функция потерь, а не вторая.",
)
def shares_the_first(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (share * fit + size).backward()  # type: ignore[no-untyped-call]
    return fit, size


@fix_two_losses.mistake(
    en="`create_graph=True` gives `w.grad` a graph of its own. As long as `w.grad` is there, all saved values are.",
    ru="Из-за `create_graph=True` у `w.grad` появился свой граф. Пока хранится `w.grad`, хранится и всё сохранённое.",
)
def gives_the_gradient_a_graph(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(create_graph=True)  # type: ignore[no-untyped-call]
    return fit.detach(), size.detach()


@fix_two_losses.mistake(*fix_two_losses.mistakes["gives_the_gradient_a_graph"].says)
def creates_a_graph(w: Tensor, x: Tensor, y: Tensor, share: float) -> TwoLosses:
    fit, size = _losses(w, x, y)
    (fit + share * size).backward(create_graph=True)  # type: ignore[no-untyped-call]
    return fit, size
