"""Extra exercise: repair a snapshot that shares memory with its tensor."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import flags, grad_fn_name


@exercise(
    title=Text("A snapshot that changes", "Снимок, который меняется"),
    kind="find the bug",
    minutes=3,
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
        Text("return x.detach(). ...", "return x.detach(). ..."),
    ],
)
def snapshot(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.detach().clone().requires_grad_(case.x.requires_grad)
    x = x if case.x.is_leaf else x * 1
    memory = x.data_ptr()
    taken = answer.snapshot(x)
    with torch.no_grad():
        answer.snapshot(_changed(x))  # a later snapshot leaves this one alone
    state = {**flags("x", x), "x.grad_fn": grad_fn_name(x), "x.data_ptr() is as before": x.data_ptr() == memory}
    if not isinstance(taken, Tensor):
        return {"snapshot": {"snapshot": taken, "snapshot of the edited x": None}}
    with using_answer():
        with torch.no_grad():
            x.copy_(_changed(x))
        later, tracking = taken.detach().clone(), flags("snapshot", taken)
        again = answer.snapshot(x)
        again = again.detach().clone() if isinstance(again, Tensor) else again
        with torch.no_grad():
            taken.zero_()
    taken_twice = {"snapshot": later, "snapshot of the edited x": again}
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


@snapshot.mistake(
    en="The snapshot still shares its memory with `x`. `.data`, `numpy()` and `Variable`, like `detach()`, give a "
    "second name for the same numbers; `.contiguous()`, `.cpu()` and `.to(...)` copy only when they have to.",
    ru="У снимка по-прежнему общая с `x` память. `.data`, `numpy()` и `Variable`, как и `detach()`, дают второе имя "
    "той же памяти; методы `.contiguous()`, `.cpu()` и `.to(...)` копируют, только если иначе нельзя.",
)
def takes_data(x: Tensor) -> Tensor:
    return x.data


@snapshot.mistake(
    en="`x` itself comes back, under another name. `.contiguous()`, `.cpu()` and `.to(...)` return the very tensor "
    "they are called on when there is nothing to do.",
    ru="Возвращается сам тензор `x` под другим именем. Методы `.contiguous()`, `.cpu()` и `.to(...)` возвращают тот "
    "самый тензор, если менять нечего.",
)
def hands_back_x(x: Tensor) -> Tensor:
    return x.contiguous()


@snapshot.mistake(
    en="`x` was given new memory. A tensor that shares the old one no longer sees its edits; it is the snapshot that "
    "needs new memory.",
    ru="Новая память досталась тензору `x`. Если прежняя память у кого-то осталась, изменений в ней уже не видно; "
    "новая память нужна снимку.",
)
def moves_x(x: Tensor) -> Tensor:
    x.data = x.data.clone()
    return x.detach().clone()


@snapshot.mistake(
    en="`x` was cut off from its history. `detach_()` and `requires_grad_()` change the caller's tensor; only the "
    "snapshot should be a constant.",
    ru="От графа отсоединён сам `x`. Методы `detach_()` и `requires_grad_()` меняют тензор вызывающего кода, а "
    "константой должен быть только снимок.",
)
def cuts_x_off(x: Tensor) -> Tensor:
    return x.detach_().clone()


@snapshot.mistake(
    en="The snapshot is still part of the graph. Copying the numbers is recorded too, by `clone()` and by `copy_()`.",
    ru="Снимок остался частью графа. Копирование тоже записывается, будь то `clone()` или `copy_()`.",
)
def clones_only(x: Tensor) -> Tensor:
    return x.clone()


@snapshot.mistake(
    en="The snapshot requires grad, as a new leaf. A snapshot should be a constant.",
    ru="Снимок — новый лист, который требует градиента. Снимок должен быть константой.",
)
def makes_a_weight(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


@snapshot.mistake(*snapshot.mistakes["makes_a_weight"].says)
def makes_a_parameter(x: Tensor) -> Tensor:
    return torch.nn.Parameter(x.detach().clone())


@snapshot.mistake(
    en="`copy.deepcopy` was used. It keeps `requires_grad` for leaves and refuses results.",
    ru="Использована функция `copy.deepcopy`. У листьев она сохраняет `requires_grad`, а результаты операций не "
    "копирует вовсе.",
)
def copies_deeply(x: Tensor) -> Tensor:
    return copy.deepcopy(x)


@snapshot.mistake(
    en="A weight of float64 becomes a snapshot of float32. A Python list, for one, loses the dtype: torch makes float32 "
    "of its numbers.",
    ru="Снимок веса float64 получается float32. Например, в списке Python dtype теряется: torch превращает его числа в "
    "float32.",
)
def goes_through_a_list(x: Tensor) -> Tensor:
    return torch.tensor(x.tolist())


@snapshot.mistake(*snapshot.mistakes["goes_through_a_list"].says)
def makes_float32(x: Tensor) -> Tensor:
    return x.detach().clone().float()


@snapshot.mistake(
    en="The snapshot is float64, whatever `x` is. It has to have the dtype of `x`.",
    ru="Снимок всегда float64, каким бы ни был `x`. Нужен dtype тензора `x`.",
)
def makes_float64(x: Tensor) -> Tensor:
    return x.detach().clone().double()


@snapshot.mistake(
    en="The shape of an empty tensor was lost: a list of no rows does not say how long they are.",
    ru="Потеряна форма пустого тензора: по списку без строк не видно, какой они длины.",
)
def loses_an_empty_shape(x: Tensor) -> Tensor:
    return torch.tensor(x.tolist(), dtype=x.dtype)


@snapshot.mistake(
    en="The dtype of whole or logical numbers was lost: arithmetic such as `* 1.0` or `+ 0` makes another dtype of them.",
    ru="Потерян dtype целых или логических чисел: арифметика вроде `* 1.0` или `+ 0` даёт другой dtype.",
)
def multiplies_by_one(x: Tensor) -> Tensor:
    return x.detach() * 1.0


@snapshot.mistake(*snapshot.mistakes["multiplies_by_one"].says)
def adds_zero(x: Tensor) -> Tensor:
    return x.detach() + 0


@snapshot.mistake(
    en="A later snapshot of the same, edited tensor holds the old numbers: the first one was kept and returned again.",
    ru="В новом снимке того же, уже изменённого тензора лежат старые числа: сохранён и снова возвращён первый снимок.",
)
def remembers_the_first(x: Tensor) -> Tensor:
    found = _remembered.get(id(x))
    if found is None or found[0]() is not x:
        _remembered[id(x)] = found = (weakref.ref(x), x.detach().clone())
    return found[1]


_remembered: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}


@snapshot.mistake(
    en="A Python list was returned. Asked for is a tensor.",
    ru="Возвращён список Python, а нужен тензор.",
)
def returns_a_list(x: Tensor) -> Any:
    return x.tolist()


@snapshot.mistake(
    en="All calls share one buffer: the next snapshot of the same shape overwrites this one.",
    ru="У всех вызовов общий буфер: следующий снимок той же формы записывается поверх этого.",
)
def reuses_one_buffer(x: Tensor) -> Tensor:
    buffer = _buffers.setdefault((x.shape, x.dtype), torch.empty(x.shape, dtype=x.dtype))
    return buffer.copy_(x.detach())


_buffers: dict[object, Tensor] = {}


@snapshot.mistake(*snapshot.mistakes["takes_data"].says)
def takes_a_view(x: Tensor) -> Tensor:
    with torch.no_grad():
        return x[:]


@snapshot.mistake(
    en="The snapshot is flat. It needs the shape of `x`.",
    ru="Снимок вытянут в строку. У него должна быть форма тензора `x`.",
)
def flattens(x: Tensor) -> Tensor:
    return x.detach().clone().flatten()


@snapshot.mistake(
    en="A NumPy array was returned. Asked for is a tensor.",
    ru="Возвращён массив NumPy, а нужен тензор.",
)
def returns_an_array(x: Tensor) -> Any:
    return x.detach().clone().numpy()


@snapshot.mistake(
    en="`requires_grad` of `x` is switched off. The flag belongs to the caller's tensor, and of a result it cannot be "
    "changed.",
    ru="У `x` выключен флаг `requires_grad`. Это флаг чужого тензора, а у результата операции его и нельзя изменить.",
)
def switches_the_flag_off(x: Tensor) -> Tensor:
    return x.requires_grad_(False).clone()


@snapshot.mistake(
    en="`requires_grad_(False)` is called on the clone. The clone is a result with a history, and only `detach()` takes "
    "that away.",
    ru="Метод `requires_grad_(False)` вызван для копии. Копия — результат операции с историей, и убрать её может "
    "только `detach()`.",
)
def switches_the_clone_off(x: Tensor) -> Tensor:
    return x.clone().requires_grad_(False)


@snapshot.mistake(
    en="Leaves are copied with `copy.deepcopy`, which keeps `requires_grad`: the snapshot of a weight is a weight.",
    ru="Листья копируются через `copy.deepcopy`, а она сохраняет `requires_grad`: снимок веса — снова вес.",
)
def copies_leaves_deeply(x: Tensor) -> Tensor:
    return copy.deepcopy(x) if x.is_leaf else x.detach().clone()
