"""Extra exercise: count the bytes that a graph saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import linear

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import number
from autograder.language import Text

from .common import Function, nbytes


@exercise(
    title=Text("Count what is kept", "Сосчитать сохранённое"),
    kind="complete",
    difficulty=2,
    minutes=12,
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
        Text(
            "`class Box: ...` holds `t.detach()`; `boxes = weakref.WeakSet()`; `pack` makes a box, adds it to `boxes` and "
            "returns it: the graph alone keeps it alive. Count the storages of the boxes that are left, without those of "
            "the parameters, while you hold the result of `f(x)`.",
            "`class Box: ...` держит `t.detach()`; `boxes = weakref.WeakSet()`; `pack` создаёт такой объект, добавляет "
            "его в `boxes` и возвращает: живым его держит только граф. Посчитайте хранилища оставшихся объектов, кроме "
            "хранилищ параметров, пока держите результат `f(x)`.",
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
    W, b = leaf(rng, 5, 7), leaf(rng, 5)
    slices = Formula("x[:1].sin() + x[1:3].cos()", lambda x: x[:1].sin() + x[1:3].cos())
    yield Case(f=Formula("x * x", lambda x: x * x), x=leaf(rng, rows, 4), parameters=[])
    yield Case(f=slices, x=leaf(rng, rows, 6), parameters=[])
    yield Case(f=Formula("x.expand(50, -1).cos()", lambda x: x.expand(50, -1).cos()), x=leaf(rng, rows), parameters=[])
    yield Case(
        f=Formula("linear(x.exp(), W[2:], b[2:]).relu()", lambda x: linear(x.exp(), W[2:], b[2:]).relu()),
        x=leaf(rng, rows, 7),
        parameters=[W, b],
    )
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


def _counting(measure: Callable[[Tensor], tuple[object, int]], skip: bool = True) -> Callable[..., int]:
    """Return a program that counts the bytes of saved tensors.

    `measure` returns a key and the bytes of a saved tensor; tensors with the same key count once. If `skip` is True,
    parameters do not count.
    """

    def count(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
        kept: dict[object, int] = {}
        weights = {p.untyped_storage().data_ptr() for p in parameters} if skip else set()

        def pack(t: Tensor) -> Tensor:
            if t.untyped_storage().data_ptr() not in weights:
                key, size = measure(t)
                kept[key] = size
            return t.detach()

        with saved_tensors_hooks(pack, lambda t: t):
            y = f(x)
        del y
        return sum(kept.values())

    return count


def _storage_address(t: Tensor) -> int:
    return t.untyped_storage().data_ptr()


@count_saved.mistake(
    en="Every save was counted. `x * x` saves the same storage twice.",
    ru="Учтено каждое сохранение. Но `x * x` дважды сохраняет одно и то же хранилище.",
)
def counts_every_save(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (object(), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(
    en="The entries of each save were counted. A slice keeps its whole storage, and `x * x` saves one storage twice.",
    ru="Учтены элементы каждого сохранённого тензора. Но срез удерживает всё хранилище, а `x * x` дважды сохраняет "
    "одно и то же.",
)
def counts_entries_of_saves(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (object(), nbytes(t)))(f, x, parameters)


@count_saved.mistake(
    en="A view was counted by its own entries. It keeps the storage it lies in: a slice more than it shows, the result "
    "of `expand` less.",
    ru="Представление учтено по его собственным элементам. Но оно удерживает хранилище, в котором лежит: у среза это "
    "больше, чем в нём видно, а у результата `expand` — меньше.",
)
def counts_entries_of_tensors(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (_storage_address(t), nbytes(t)))(f, x, parameters)


@count_saved.mistake(
    en="Parameters were counted too. A layer saves its weight through a view, which is another object with the same "
    "memory.",
    ru="Учтены и параметры. Слой сохраняет вес через представление, а это другой объект с той же памятью.",
)
def counts_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)


@count_saved.mistake(
    en="The saves were told apart by the address of the first entry. Two slices of one tensor begin at different "
    "entries, but their storage is one: its address is what counts.",
    ru="Ваш код различает сохранённые тензоры по адресу первого элемента. Два среза одного тензора начинаются в разных "
    "местах, но хранилище у них одно: важен его адрес.",
)
def tells_by_first_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (t.data_ptr(), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(*count_saved.mistakes["tells_by_first_entries"].says)
def tells_all_by_first_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    firsts = {p.data_ptr() for p in parameters}
    kept: dict[int, int] = {}

    def pack(t: Tensor) -> Tensor:
        kept[t.data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with saved_tensors_hooks(pack, lambda t: t):
        y = f(x)
    del y
    return sum(size for address, size in kept.items() if address not in firsts)


@count_saved.mistake(
    en="`x` was left out with the parameters. When the graph saves it, it counts.",
    ru="Вместе с параметрами исключён и `x`. Но если граф его сохраняет, он тоже учитывается.",
)
def leaves_x_out(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    mine = x.untyped_storage().data_ptr()
    return _counting(
        lambda t: (_storage_address(t), 0 if _storage_address(t) == mine else t.untyped_storage().nbytes())
    )(f, x, parameters)


@count_saved.mistake(
    en="The number of saves was returned, not bytes.",
    ru="Возвращено число сохранений, а не байтов.",
)
def counts_calls(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (object(), 1))(f, x, parameters)


@count_saved.mistake(
    en="Four bytes were assumed for every entry. A float64 takes eight, a boolean one.",
    ru="Размер любого элемента принят за четыре байта. Но float64 занимает восемь, а логическое значение — один.",
)
def assumes_float32(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes() // t.element_size() * 4))(
        f, x, parameters
    )


@count_saved.mistake(
    en="Nothing was returned: the number was printed, or `return` is missing.",
    ru="Функция ничего не возвращает: число напечатано или забыт `return`.",
)
def returns_no_number(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> None:
    return None


@count_saved.mistake(
    en="The bytes of all parameters were subtracted. A bias is not saved at all, so nothing may be subtracted for it.",
    ru="Вычтены байты всех параметров. Но смещение вообще не сохраняется, и вычитать за него нечего.",
)
def subtracts_all_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    everything = _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)
    return everything - sum(map(nbytes, parameters))


@count_saved.mistake(
    en="Nothing was counted: `f` ran outside the `with`, or its result was dropped before the count was read.",
    ru="Ничего не посчитано: либо `f` выполнена вне блока `with`, либо её результат отброшен раньше, чем прочитано число.",
)
def sees_nothing(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return 0


@count_saved.mistake(
    en="Branches that `f` dropped were counted, too. The graph of the result does not keep what only they saved.",
    ru="Посчитаны и ветви, которые `f` отбросила. Того, что сохранили только они, граф результата не держит.",
)
def counts_dropped_branches(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (_storage_address(t), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(
    en="Only the first input of each node was followed. A node may have several: all of `next_functions` lead on.",
    ru="Прослежен только первый вход каждого узла. Входов может быть несколько: идти нужно по всем `next_functions`.",
)
def follows_the_first_edge(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    kept: dict[int, int] = {}
    y = f(x)
    node: Any = y.grad_fn
    while node is not None:
        for name in dir(node):
            t = getattr(node, name) if name.startswith("_saved_") else None
            if isinstance(t, Tensor) and _storage_address(t) not in weights:
                kept[_storage_address(t)] = t.untyped_storage().nbytes()
        node = node.next_functions[0][0] if node.next_functions else None
    return sum(kept.values())
