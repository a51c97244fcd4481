"""Extra exercise: count the bytes that a graph saves."""

from __future__ import annotations

import weakref
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
from autograder.measure import graph_nodes, live_bytes

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
    slices = Formula("x[:2].sin() + x[1:3].cos()", lambda x: x[:2].sin() + x[1:3].cos())
    yield Case(f=Formula("x * x", lambda x: x * x), x=leaf(rng, rows, 4), parameters=[])
    yield Case(f=slices, x=leaf(rng, rows, 6), parameters=[])
    yield Case(f=Formula("x.expand(50, -1).cos()", lambda x: x.expand(50, -1).cos()), x=leaf(rng, rows), parameters=[])
    yield Case(
        f=Formula("linear(x.exp(), W[2:], b[2:]).relu()", lambda x: linear(x.exp(), W[2:], b[2:]).relu()),
        x=leaf(rng, rows, 7),
        parameters=[W, b],
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
    en="Parameters were counted too. A layer saves a view of its weight: another object, which may begin at another entry, "
    "with the same storage.",
    ru="Учтены и параметры. Слой сохраняет представление веса: это другой объект, который может начинаться с другого "
    "элемента, с тем же хранилищем.",
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
    en="When the number was read, nothing was saved: `f` ran outside the `with`, its result was dropped, or `backward()` "
    "had freed the graph.",
    ru="Когда число прочитано, ничего не сохранено: либо `f` выполнена вне блока `with`, либо её результат отброшен, либо "
    "граф уже освобождён вызовом `backward()`.",
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


class _Box:
    """A key and a size, which the graph alone keeps alive."""

    def __init__(self, t: Tensor, key: object, size: int) -> None:
        self.tensor, self.key, self.size = t.detach(), key, size


def _counting_alive(
    measure: Callable[[Tensor], tuple[object, int]], is_own: Callable[[Tensor, Sequence[Tensor]], bool] | None = None
) -> Callable[..., int]:
    """Return a program like those of `_counting` that leaves out what the graph dropped.

    `is_own` says of a saved tensor whether it is a parameter. By default their storages are compared.
    """

    def count(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
        boxes: weakref.WeakSet[_Box] = weakref.WeakSet()

        def pack(t: Tensor) -> _Box:
            own = is_own(t, parameters) if is_own else _storage_address(t) in set(map(_storage_address, parameters))
            key, size = measure(t)
            box = _Box(t, key, 0 if own else size)
            boxes.add(box)
            return box

        with saved_tensors_hooks(pack, lambda box: box.tensor):
            y = f(x)
        found = sum({box.key: box.size for box in boxes}.values())
        del y
        return found

    return count


def _storage_and_size(t: Tensor) -> tuple[int, int]:
    return _storage_address(t), t.untyped_storage().nbytes()


@count_saved.mistake(*count_saved.mistakes["counts_entries_of_tensors"].says)
def counts_entries_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(lambda t: (_storage_address(t), nbytes(t)))(f, x, parameters)


@count_saved.mistake(*count_saved.mistakes["counts_parameters"].says)
def counts_parameters_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(_storage_and_size)(f, x, [])


@count_saved.mistake(*count_saved.mistakes["subtracts_all_parameters"].says)
def subtracts_from_what_is_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(_storage_and_size)(f, x, []) - sum(map(nbytes, parameters))


@count_saved.mistake(*count_saved.mistakes["tells_by_first_entries"].says)
def tells_by_first_entries_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(lambda t: (t.data_ptr(), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(*count_saved.mistakes["leaves_x_out"].says)
def leaves_x_out_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(_storage_and_size)(f, x, [*parameters, x])


@count_saved.mistake(*count_saved.mistakes["assumes_float32"].says)
def assumes_float32_alive(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(lambda t: (_storage_address(t), t.numel() * 4))(f, x, parameters)


@count_saved.mistake(
    en="Every leaf that requires grad was taken for a parameter. `x` is such a leaf, too, and counts.",
    ru="За параметр принят каждый лист, который требует градиента. Но такой лист и `x`, а он учитывается.",
)
def takes_leaves_for_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(_storage_and_size, lambda t, known: t.is_leaf and t.requires_grad)(f, x, parameters)


@count_saved.mistake(
    en="The number of storages was returned, not their bytes.",
    ru="Возвращено число хранилищ, а не байты.",
)
def counts_storages(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting_alive(lambda t: (_storage_address(t), 1))(f, x, parameters)


@count_saved.mistake(
    en="Every save was added up by its own entries, parameters too. A storage counts once and whole, and parameters do "
    "not count.",
    ru="Сложены элементы всех сохранённых тензоров, в том числе параметров. Но каждое хранилище учитывается один раз и "
    "целиком, а параметры не учитываются.",
)
def adds_up_all_saves(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counting(lambda t: (object(), nbytes(t)), skip=False)(f, x, parameters)


@count_saved.mistake(
    en="`live_bytes` was used. It counts everything that `f` allocated, the result as well, and leaves `x` out.",
    ru="Использован `live_bytes`. Он учитывает всё, что выделила `f`, в том числе результат, и не учитывает `x`.",
)
def counts_live_bytes(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    with live_bytes() as live:
        y = f(x)
        now = live.now
    del y
    return now


@count_saved.mistake(
    en="`peak` of `live_bytes` was used. It counts all that `f` allocated at once, the result as well, and leaves `x` out.",
    ru="Использован `peak` из `live_bytes`. Он учитывает всё, что `f` выделила одновременно, в том числе результат, и не "
    "учитывает `x`.",
)
def counts_the_peak(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    with live_bytes() as live:
        f(x)
    return live.peak


@count_saved.mistake(
    en="Only the last node was read. The nodes before it save tensors, too: `next_functions` leads to them.",
    ru="Прочитан только последний узел. Но тензоры сохраняют и предыдущие узлы: к ним ведёт `next_functions`.",
)
def reads_the_last_node(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _size_of_nodes([f(x).grad_fn], parameters)


@count_saved.mistake(
    en="Saved tensors in a tuple were left out: indexing saves its indices in `_saved_indices`, which is a tuple.",
    ru="Пропущены сохранённые тензоры в кортеже: индексирование хранит индексы в `_saved_indices`, а это кортеж.",
)
def overlooks_tuples(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    y = f(x)
    return _size_of_nodes(graph_nodes(y), parameters)


def _size_of_nodes(nodes: Sequence[Any], parameters: Sequence[Tensor]) -> int:
    """Return the bytes of the storages of tensors that `nodes` show as attributes."""
    saved = [getattr(node, name, None) for node in nodes for name in dir(node) if name.startswith("_saved_")]
    storages = dict(_storage_and_size(t) for t in saved if isinstance(t, Tensor))
    return sum(storages[key] for key in storages.keys() - set(map(_storage_address, parameters)))
