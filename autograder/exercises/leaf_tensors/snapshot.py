"""Exercise: repair a snapshot that shares memory with its tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.checking.values import canonical
from autograder.language import Text

from .common import flags, grad_fn_name


@exercise(
    title=Text("A snapshot that changes", "Снимок, который меняется"),
    kind="find the bug",
    aspects=[
        aspect(
            "snapshot",
            1,
            en="The snapshot holds what `x` held at the time of the call, also after `x` has been edited.",
            ru="В снимке лежит то, что было в `x` в момент вызова, даже если `x` потом изменили.",
        ),
        aspect(
            "flags",
            1,
            en="It is a constant: it does not require grad and has no `grad_fn`.",
            ru="Это константа: градиента не требует, `grad_fn` у неё нет.",
        ),
        aspect(
            "x",
            1,
            en="`x` itself stays as it is, when the snapshot is taken and when it is edited: numbers, history, flag, "
            "memory.",
            ru="Сам тензор `x` остаётся прежним и когда снимок делают, и когда его меняют: те же числа, история, флаг "
            "и память.",
        ),
    ],
    hints=[
        Text(
            "How many numbers are in memory after `x.detach()`: as many as before, or twice as many?",
            "Сколько чисел в памяти после `x.detach()`: столько же, сколько было, или вдвое больше?",
        ),
        Text(
            "Two things are wanted: memory of its own, and no history. One call for each.",
            "Нужны две вещи: своя память и отсутствие истории. По одному вызову на каждую.",
        ),
        Text.same("def snapshot(x):\n    constant = ...\n    own = ...\n    return own"),
    ],
)
def snapshot(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.detach().clone().requires_grad_(case.x.requires_grad)
    x = x if case.x.is_leaf else x * 1
    memory = x.data_ptr()
    taken = answer.snapshot(x)
    with torch.no_grad():
        other = canonical(answer.snapshot(_changed(x)))  # a later snapshot leaves this one alone
    state = {**flags("x", x), "x.grad_fn": grad_fn_name(x), "x.data_ptr() is as before": x.data_ptr() == memory}
    if not isinstance(taken, Tensor):
        return {"snapshot": {"snapshot": taken, "snapshot of another x": other, "snapshot of the edited x": None}}
    with using_answer():
        with torch.no_grad():
            x.copy_(_changed(x))
        later, tracking = taken.detach().clone(), flags("snapshot", taken)
        again = answer.snapshot(x)
        again = again.detach().clone() if isinstance(again, Tensor) else again
        with torch.no_grad():
            taken.zero_()
    taken_twice = {"snapshot": later, "snapshot of another x": other, "snapshot of the edited x": again}
    return {"snapshot": taken_twice, "flags": tracking, "x": {"x": x.detach(), **state}, "is x": taken is x}


def _changed(x: Tensor) -> Tensor:
    """Return a tensor like `x` in which every entry is another."""
    return ~x if x.dtype == torch.bool else -3 * x


@snapshot.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=leaf(rng, 3))
    yield Case(x=leaf(rng, 2, 3) * 2)
    yield Case(x=signed(rng, 4).float())
    yield Case(x=torch.randint(1, 9, (3,), generator=rng))
    yield Case(x=torch.rand(4, generator=rng) < 0.5)
    yield Case(x=torch.zeros(0, 3, dtype=torch.float64))
    yield Case(x=leaf(rng))
