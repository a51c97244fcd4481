"""Core exercise: in-place edits that autograd notices, and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("Edits that autograd sees, and does not", "Изменения, которые autograd видит и не видит"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "values",
            1,
            en="`h` itself holds the numbers of `values`, in memory of its own, and `values` is as it was.",
            ru="В самом тензоре `h` лежат числа из `values`, причём в собственной памяти, а `values` не изменился.",
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
        Text(
            "if noticed:\n    with torch.no_grad():\n        h.copy_(...)\nelse:\n    ...",
            "if noticed:\n    with torch.no_grad():\n        h.copy_(...)\nelse:\n    ...",
        ),
    ],
)
def overwrite(answer: Any, case: Case) -> dict[str, object]:
    h, values = case.h, case.values.clone()
    x, loss, version = h.grad_fn.next_functions[0][0].variable, h.square().sum(), h._version
    answer.overwrite(h, values, case.noticed)
    found: object
    with using_answer():
        try:
            (found,) = torch.autograd.grad(loss, x)
        except RuntimeError as error:
            told = "modified by an inplace operation" in str(error) and h._version > version
            found = "refused with that error" if told else "refused with another error"
    return {
        "values": {"h": h.detach(), "values": values, "one memory for both": h.data_ptr() == values.data_ptr()},
        "noticed": found if case.noticed else None,
        "unnoticed": None if case.noticed else found,
    }


@overwrite.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for noticed in (True, False):
        yield Case(h=leaf(rng, 2, 3) * 3, values=signed(rng, 2, 3), noticed=noticed)
        yield Case(h=leaf(rng, 4).exp(), values=signed(rng, 4), noticed=noticed)


@overwrite.mistake(
    en="Both edits go past the version counter. `.data` and a NumPy array share the memory of `h`, but not its "
    "counter.",
    ru="Оба изменения сделаны в обход счётчика версий. У `.data` и у массива NumPy общая с `h` память, но не счётчик.",
)
def both_unseen(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.data.copy_(values)


@overwrite.mistake(
    en="Both edits move the version counter. `no_grad()` stops recording, not counting, and what `detach()` returns "
    "shares the counter.",
    ru="Оба изменения увеличивают счётчик версий. Режим `no_grad()` выключает отслеживание, но не счётчик, а у "
    "результата `detach()` счётчик общий с исходным тензором.",
)
def both_seen(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.detach().copy_(values)


@overwrite.mistake(
    en="The two ways are the wrong way round: it is the edit through `.data` that autograd does not see.",
    ru="Два способа перепутаны: без ведома autograd тензор изменяется как раз через `.data`.",
)
def swapped(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.data if noticed else h.detach()).copy_(values)


@overwrite.mistake(
    en="The numbers went elsewhere, for example under a new name or into a copy. The caller's tensor has not changed.",
    ru="Числа записаны в другое место, например под новым именем или в копию. Тензор вызывающего кода не изменился.",
)
def writes_elsewhere(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.detach().clone().copy_(values)


@overwrite.mistake(
    en="`requires_grad` is switched off for the edit. That flag can be changed at leaves only, and `h` is a result.",
    ru="На время изменения выключается `requires_grad`. Этот флаг можно менять только у листьев, а `h` — результат "
    "операции.",
)
def switches_the_flag_off(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.requires_grad_(False)
    h.copy_(values)


@overwrite.mistake(
    en="`h.data` was given the tensor `values` itself. They are now two names for one memory, and an edit of one shows "
    "in the other.",
    ru="Полю `h.data` присвоен сам тензор `values`. Теперь это два имени одной памяти, и изменение одного видно в "
    "другом.",
)
def shares_the_values(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.data = values
    if noticed:
        h.detach().mul_(1)


@overwrite.mistake(
    en="`h.data` was given a new tensor. `h` shows the new numbers, but where the graph kept the old memory, as `exp` "
    "does with its result, it still holds the old ones.",
    ru="Полю `h.data` присвоен новый тензор. В `h` видны новые числа, но граф мог сохранить прежнюю память (так `exp` "
    "сохраняет свой результат), и в ней лежат старые.",
)
def assigns_new_memory(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.data = values.clone()


@overwrite.mistake(
    en="With `noticed=True` only the name `h` is bound to other numbers. The caller's tensor has not changed.",
    ru="При `noticed=True` с другими числами связано только имя `h`. Тензор вызывающего кода не изменился.",
)
def rebinds_the_name(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h = values
    else:
        h.data.copy_(values)


@overwrite.mistake(*overwrite.mistakes["shares_the_values"].says)
def shares_the_values_unnoticed(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.data = values


@overwrite.mistake(
    en="`values` was added to `h`. It should stand there in place of the old numbers.",
    ru="Тензор `values` прибавлен к `h`, а должен встать на место прежних чисел.",
)
def adds_the_values(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.detach() if noticed else h.data).add_(values)


@overwrite.mistake(
    en="The copy goes the wrong way: the numbers of `h` were written into `values`.",
    ru="Копирование идёт не в ту сторону: числа из `h` записаны в `values`.",
)
def copies_the_wrong_way(h: Tensor, values: Tensor, noticed: bool) -> None:
    (values.detach() if noticed else values.data).copy_(h.detach())
