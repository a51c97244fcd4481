"""Exercise: a fake that is right for squares alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked, using_answer
from autograder.language import Text


@exercise(
    title=Text("The fake of `distances`", "Фиктивная реализация для `distances`"),
    kind="find the bug",
    core=True,
    difficulty=2,
    aspects=[
        aspect(
            "shape",
            1,
            en="The shape is that of the operator's result, with and without batch dimensions.",
            ru="Форма такая же, как у результата оператора, с измерениями батча и без них.",
            entries=(Entries(Text("dimension {n}", "измерение {n}"), Text("dimensions", "измерений")),),
        ),
        aspect(
            "dtype",
            1,
            en="The dtype is that of the operator's result.",
            ru="dtype такой же, как у результата оператора.",
        ),
        aspect(
            "layout",
            0.5,
            en="The strides are those of the operator's result: it is contiguous, whatever the inputs are.",
            ru="Шаги (strides) такие же, как у результата оператора: он непрерывен в памяти при любых входах.",
        ),
        aspect(
            "place",
            0.5,
            en="The result lies on the device of the inputs.",
            ru="Результат лежит на том же устройстве, что и входы.",
        ),
    ],
    hints=[
        Text(
            "For which inputs is the given fake right? Try it in your head with three rows against five, and with "
            "float64.",
            "Для каких входов исходная функция верна? Проверьте её в уме на трёх строках против пяти и на float64.",
        ),
        Text(
            "Count dimensions from the end: `x.shape[-2]` is the number of rows, whatever stands before it. "
            "`x.new_empty(...)` takes over dtype and device.",
            "Отсчитывайте измерения с конца: `x.shape[-2]` — число строк, что бы ни стояло перед ним. Метод "
            "`x.new_empty(...)` перенимает dtype и устройство.",
        ),
        Text.same("def fix_fake(x, y):\n    return x.new_empty(*x.shape[...], ...)"),
    ],
    why=Why(
        Text(
            "Why does a wrong fake give the compiled program another shape?",
            "Почему из-за неверной фиктивной реализации результат скомпилированной программы имеет другую форму?",
        ),
        Text(
            "The compiler never runs the operator while it records the graph. Shapes, dtypes and strides of all that "
            "follows come from the fake, and the program answers with them.",
            "При записи графа оператор не выполняется. Формы, dtype и шаги всего, что идёт после него, взяты из "
            "фиктивной реализации, и именно их сообщает программа.",
        ),
    ),
)
def fix_fake(answer: Any, case: Case) -> dict[str, object]:
    with FakeTensorMode() as mode, using_answer():
        # the wrapper that marks errors looks at numbers of the arguments, and fake tensors have none
        fake = unmarked(answer.fix_fake)(mode.from_tensor(case.x), mode.from_tensor(case.y))
        found: dict[str, object] = {"shape": list(fake.shape), "dtype": str(fake.dtype), "layout": str(fake.stride())}
        # not "cuda": a torch without CUDA cannot even index a fake tensor there
        there = [torch.empty_strided(each.shape, each.stride(), device="meta") for each in (case.x, case.y)]
        found["place"] = str(unmarked(answer.fix_fake)(*there).device)
    return found


@fix_fake.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 3, 2), y=signed(rng, 5, 2))
    yield Case(x=signed(rng, 4, 3).float(), y=signed(rng, 2, 3).float())
    yield Case(x=signed(rng, 3, 2, 4, 3), y=signed(rng, 3, 2, 5, 3))
    yield Case(x=signed(rng, 2, 4).t(), y=signed(rng, 2, 3).t())
    yield Case(x=signed(rng, 2, 3, 4).transpose(0, 2), y=signed(rng, 2, 5, 4).transpose(0, 2))
    yield Case(x=signed(rng, 3, 3), y=signed(rng, 3, 3))
