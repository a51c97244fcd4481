"""Exercise: count the bytes that a graph saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text


@exercise(
    title=Text("Count what is kept", "Сосчитать сохранённое"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "bytes",
            4,
            en="Each storage that the graph of `f(x)` keeps counts once and whole; parameters do not count.",
            ru="Каждое хранилище, которое удерживает граф `f(x)`, учтено один раз и целиком; параметры не учитываются.",
        )
    ],
    hints=[
        Text(
            "A `pack` hook sees every save. What makes two of them the same memory, and which of them does the graph still "
            "hold when `f` has returned?",
            "Хук `pack` видит каждое сохранение. Как узнать, что у двух сохранённых тензоров общая память? И что из "
            "этого граф держит после возврата из `f`?",
        ),
        Text(
            "`t.untyped_storage()` has a `data_ptr()` and `nbytes()`. A dictionary from the one to the other counts each "
            "storage once.",
            "У `t.untyped_storage()` есть `data_ptr()` и `nbytes()`. В словаре, где ключ — адрес, а значение — размер, "
            "каждое хранилище окажется один раз.",
        ),
        Text.same(
            "def count_saved(f, x, parameters):\n"
            "    import weakref\n\n"
            "    class Box:\n"
            "        def __init__(self, t):\n"
            "            self.t = ...\n"
            "            boxes.add(self)\n\n"
            "    boxes = weakref.WeakSet()\n"
            "    with saved_tensors_hooks(Box, lambda box: box.t):\n"
            "        y = f(x)\n"
            "    storages = {...: ... for box in boxes}\n"
            "    weights = {p.untyped_storage().data_ptr() for p in parameters}\n"
            "    return sum(size for pointer, size in storages.items() if ...)"
        ),
    ],
)
def count_saved(answer: Any, case: Case) -> dict[str, object]:
    found = answer.count_saved(case.f, case.x, case.parameters)
    with using_answer():
        return {"bytes": number(found)}


def _exp_and_sin(x: Tensor) -> Tensor:
    for _ in range(8):
        x = x.exp().sin()
    return x


@count_saved.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    rows = int(torch.randint(3, 9, (), generator=rng))
    W, b, V = leaf(rng, 5, 7), leaf(rng, 5), leaf(rng, 2, 3)
    slices = Formula("x[:2].sin() + x[1:3].cos()", lambda x: x[:2].sin() + x[1:3].cos())
    yield Case(f=Formula("x * x", lambda x: x * x), x=leaf(rng, rows, 4), parameters=[])
    yield Case(f=slices, x=leaf(rng, rows, 6), parameters=[])
    yield Case(f=Formula("x.expand(50, -1).cos()", lambda x: x.expand(50, -1).cos()), x=leaf(rng, rows), parameters=[])
    yield Case(
        f=Formula("linear(x.exp(), W[2:], b[2:]).relu() @ V.T", lambda x: linear(x.exp(), W[2:], b[2:]).relu() @ V.T),
        x=leaf(rng, rows, 7),
        parameters=[W, b, V],
    )
    index = torch.randint(0, rows, (7,), generator=rng)
    yield Case(f=Formula("x[index].sin()", lambda x: x[index].sin()), x=leaf(rng, rows, 3), parameters=[])
    yield Case(f=Formula("8 × x.exp().sin()", _exp_and_sin), x=leaf(rng, rows, 100), parameters=[])
    branches = Formula("x.exp() + x.cos().sin()", lambda x: x.exp() + x.cos().sin())
    yield Case(f=branches, x=leaf(rng, rows, 4), parameters=[])
    dropped = Formula("(x.exp(), x.sin())[1]", lambda x: (x.exp(), x.sin())[1])
    yield Case(f=dropped, x=leaf(rng, rows, 4), parameters=[])
    yield Case(
        f=Formula("where(x > 1, x, 0.0)", lambda x: torch.where(x > 1, x, 0.0)),
        x=uniform(rng, rows, 3).float().requires_grad_(),
        parameters=[],
    )
