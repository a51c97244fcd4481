"""Exercise: in-place edits that autograd notices, and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("Edits that autograd sees, and does not", "Изменения, заметные и незаметные для autograd"),
    kind="complete",
    difficulty=2,
    rtol=1e-9,
    aspects=[
        aspect(
            "values",
            1,
            en="`h` itself holds the numbers of `values`, in memory of its own, and `values` is as it was.",
            ru="В самом тензоре `h` лежат числа из `values`, память у него по-прежнему своя, а `values` не изменился.",
        ),
        aspect(
            "noticed",
            1,
            en="With `noticed=True`, a backward pass that needs the old `h` is refused with a RuntimeError.",
            ru="При `noticed=True` обратный проход, которому нужен прежний `h`, прерывается ошибкой RuntimeError.",
        ),
        aspect(
            "unnoticed",
            2,
            en="With `noticed=False`, the same backward pass runs and gives the gradient of a loss that was never "
            "computed.",
            ru="При `noticed=False` тот же обратный проход выполняется и даёт градиент функции потерь, которую никто не "
            "вычислял.",
        ),
    ],
    hints=[
        Text(
            "Autograd compares version numbers, not values. Which ways of writing leave the number as it is?",
            "Autograd сравнивает номера версий, а не значения. При каких способах записи номер остаётся прежним?",
        ),
        Text(
            "Try each way on a small tensor and print `_version`: `no_grad()`, `detach()`, `.data`.",
            "Попробуйте каждый способ на маленьком тензоре и напечатайте `_version`: `no_grad()`, `detach()`, `.data`.",
        ),
        Text.same("if noticed:\n    with torch.no_grad():\n        h.copy_(...)\nelse:\n    ..."),
    ],
    why=Why(
        Text(
            "Why does autograd notice an edit under `no_grad()`, but not one through `.data`?",
            "Почему изменение внутри `no_grad()` autograd замечает, а через `.data` — нет?",
        ),
        Text(
            "Backward compares the version noted when the tensor was saved with its present one. `no_grad()` "
            "does not stop that counter; `.data` is a tensor on the same memory with a counter of its own.",
            "Обратный проход сравнивает версию, записанную при сохранении тензора, с нынешней. `no_grad()` этот "
            "счётчик не останавливает, а `.data` — тензор на той же памяти, но со своим счётчиком.",
        ),
    ),
)
def overwrite(answer: Any, case: Case) -> dict[str, object]:
    h, values = case.h, case.values.clone()
    loss, version = h.square().sum(), h._version
    answer.overwrite(h, values, case.noticed)
    found: dict[str, object] = {}
    with using_answer():
        try:
            (gradient,) = torch.autograd.grad(loss, case.x)
            found = {"refused": False, "gradient": None if case.noticed else gradient}
        except RuntimeError as error:
            told = "modified by an inplace operation" in str(error) and h._version > version
            found = {"refused": told, "gradient": None}
    return {
        "values": {"h": h.detach(), "values": values, "one memory for both": h.data_ptr() == values.data_ptr()},
        "noticed": found if case.noticed else None,
        "unnoticed": None if case.noticed else found,
    }


@overwrite.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for noticed in (True, False):
        x = leaf(rng, 3, 2)
        yield Case(h=x.t() * 3, values=signed(rng, 2, 3), noticed=noticed, x=x)  # not contiguous
        x = leaf(rng, 4)
        yield Case(h=x.exp(), values=signed(rng, 4), noticed=noticed, x=x)
