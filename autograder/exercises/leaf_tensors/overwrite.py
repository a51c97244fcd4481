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
    title=Text("Edits that autograd sees, and does not", "Изменения, заметные и незаметные для autograd"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=8,
    rtol=1e-9,
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
    en="With `noticed=True` the caller's tensor keeps its old numbers: `values` was written elsewhere, for example bound "
    "to the name `h`, or nowhere.",
    ru="При `noticed=True` в тензоре вызывающего кода остались прежние числа: `values` записан в другое место, например "
    "связан с именем `h`, или никуда не записан.",
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


@overwrite.mistake(
    en="With `noticed=False` the caller's tensor keeps its old numbers: `values` was written into a copy, or nowhere.",
    ru="При `noticed=False` в тензоре вызывающего кода остались прежние числа: `values` записан в копию или никуда не "
    "записан.",
)
def writes_into_a_copy(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.detach() if noticed else h.detach().clone()).copy_(values)


@overwrite.mistake(
    en="With `noticed=True` the caller's tensor keeps its old numbers, and with `noticed=False` `h.data` was given the "
    "tensor `values` itself: two names for one memory.",
    ru="При `noticed=True` в тензоре вызывающего кода остались прежние числа, а при `noticed=False` полю `h.data` "
    "присвоен сам тензор `values`: это два имени одной памяти.",
)
def rebinds_and_shares(h: Tensor, values: Tensor, noticed: bool) -> None:
    if not noticed:
        h.data = values


@overwrite.mistake(
    en="The numbers of a tensor that is not contiguous went into a copy: `flatten()` and `reshape(-1)` share memory only "
    "where they can.",
    ru="Числа не попали в тензор, который лежит в памяти не подряд: `flatten()` и `reshape(-1)` используют ту же память, "
    "только если это возможно, а иначе создают копию.",
)
def flattens(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.detach() if noticed else h.data).reshape(-1).copy_(values.reshape(-1))


@overwrite.mistake(*overwrite.mistakes["flattens"].says)
def flattens_when_unnoticed(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.data.reshape(-1).copy_(values.reshape(-1))


@overwrite.mistake(
    en="A flat view of `h` is asked for. There is none of a tensor that is not contiguous; `copy_` needs no view.",
    ru="Запрошено плоское представление `h`. У тензора, который лежит в памяти не подряд, его нет; для `copy_` "
    "представление не нужно.",
)
def asks_for_a_flat_view(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.data.view(-1).copy_(values.reshape(-1))


@overwrite.mistake(
    en="Only `h[0]` gets its new number. All of `values` belongs into `h`.",
    ru="Новое число записано только в `h[0]`, а в `h` нужно записать весь `values`.",
)
def writes_the_first_entry(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.detach() if noticed else h.data)[0] = values[0]


@overwrite.mistake(
    en="`numpy()` is called on a tensor that requires grad. Torch allows it on `h.detach()`.",
    ru="Метод `numpy()` вызван для тензора, который требует градиента. Torch разрешает это для `h.detach()`.",
)
def takes_an_array_of_a_result(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.numpy()[...] = values.numpy()


@overwrite.mistake(
    en="A number is assigned to `_version`. The counter is read-only: only an in-place operation moves it.",
    ru="Полю `_version` присваивается число. Этот счётчик можно только читать: увеличивает его операция с изменением на "
    "месте.",
)
def sets_the_version(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.data.copy_(values)
    if noticed:
        h._version += 1  # type: ignore[misc]


@overwrite.mistake(*overwrite.mistakes["switches_the_flag_off"].says)
def switches_the_flag_off_when_noticed(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.requires_grad_(False)
    h.data.copy_(values)


@overwrite.mistake(
    en="`values` is rounded to float32 on the way into `h`.",
    ru="По пути в `h` числа из `values` округлены до float32.",
)
def rounds_the_values(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.detach() if noticed else h.data).copy_(values.float())
