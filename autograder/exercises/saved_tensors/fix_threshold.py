"""Core exercise: repair hooks that save large tensors in files."""

from __future__ import annotations

import gc
import io
import os
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.observe import using_answer
from autograder.language import Text
from autograder.measure import CountedCalls, live_bytes

from .common import Function, gradient, measure_saves, nbytes
from .tensor_files import count_files, read_file, read_if_file, write_file


@exercise(
    title=Text("The threshold", "Порог"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradient",
            1,
            en="The gradient is the one without hooks, for tensors of any size, also in a second backward pass.",
            ru="Градиент такой же, как без хуков, для тензоров любого размера, в том числе при втором обратном "
            "проходе.",
        ),
        aspect(
            "files",
            1,
            en="Each saved tensor of `threshold` entries or more is written to one file and not kept in memory; no "
            "smaller tensor is written.",
            ru="Каждый сохранённый тензор, в котором не меньше `threshold` элементов, записан в один файл и в памяти "
            "не остался; меньшие в файлы не записаны.",
        ),
        aspect(
            "left",
            2,
            en="When the result is dropped without a backward pass, nothing stays in memory, and no file is left.",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся и файлов тоже не остаётся.",
        ),
    ],
    hints=[
        Text(
            "Two lines are wrong. One is met only by big tensors, the other only when `backward()` is not called.",
            "Неверны две строки. До одной доходят только большие тензоры, ошибка в другой видна, только если не "
            "вызвать `backward()`.",
        ),
        Text(
            "`exp` saves its own result. If the graph holds that very tensor, what does the tensor hold by its "
            "`grad_fn`?",
            "`exp` сохраняет собственный результат. Если граф держит именно этот тензор, на что сам тензор ссылается "
            "через `grad_fn`?",
        ),
        Text(
            "`torch.save` has to get the argument of `pack_hook`; what stays in memory has to be a tensor with the "
            "same numbers and no `grad_fn`.",
            "В `torch.save` нужно передать аргумент `pack_hook`; в памяти должен оставаться тензор с теми же числами, "
            "но без `grad_fn`.",
        ),
    ],
)
def fix_threshold(answer: Any, case: Case) -> dict[str, object]:
    run = answer.fix_threshold
    with using_answer():
        y = run(case.f, case.x, case.threshold)
        has_graph = isinstance(y, Tensor) and y.requires_grad
        found = {"first backward": gradient(y, case.x, True), "second backward": gradient(y, case.x)}
        del y
    entries_of_saves, result = measure_saves(case.f, case.x, [])
    may_stay = result + sum(size for size in entries_of_saves if size < case.threshold * case.x.element_size())
    saves = CountedCalls(torch.save)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        with using_answer(), mock.patch("torch.save", saves.function), live_bytes() as live:
            y = run(case.f, case.x, case.threshold)
            before, files = max(0, live.now - may_stay), count_files(folder)[0]
            gradient(y, case.x, True)
            too_many = max(before, live.now - may_stay)  # what was read must not stay either
            del y
            if live.now:
                gc.collect(1)
        left = {"bytes in memory": live.now, "files": count_files(folder)[0]}
    written = {"calls of torch.save": saves.times, "written": files, "bytes still in memory": too_many}
    return {"gradient": found, "files": written, "left": left, "has_graph": has_graph, "before": before}


def _chain(x: Tensor) -> Tensor:
    x = (x.exp() * 2).sigmoid()
    for _ in range(5):
        x = x.sin()
    return x


@fix_threshold.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    threshold = int(torch.randint(20, 40, (), generator=rng))
    twice = Formula("(x.exp() * 2).sigmoid()", lambda x: (x.exp() * 2).sigmoid())
    yield Case(f=twice, x=leaf(rng, threshold // 2), threshold=threshold)
    chain = Formula("(x.exp() * 2).sigmoid(), then 5 × sin", _chain)  # nobody else holds the results between
    yield Case(f=chain, x=leaf(rng, threshold), threshold=threshold)
    mixed = Formula("x.sin().sum(1).exp()", lambda x: x.sin().sum(1).exp())
    # above the threshold as a whole, below it in each dimension
    x = uniform(rng, 3, threshold // 2).float().requires_grad_()
    yield Case(f=mixed, x=x, threshold=threshold)


def _saving_to_files(
    keep: Callable[[Tensor], object],
    write: Callable[[Tensor], object] = write_file,
    unpack: Callable[[Any], Any] = read_if_file,
    is_small: Callable[[int, int], bool] = int.__lt__,
    size: Callable[[Tensor], int] = Tensor.numel,
) -> Callable[[Function, Tensor, int], Tensor]:
    """Return an answer that saves large tensors in files; a mistake replaces parts of it.

    `keep` stores a small tensor, `write` a large one, and `unpack` restores both. `size` and `is_small` compare a
    tensor with the threshold.
    """

    def run(f: Function, x: Tensor, threshold: int) -> Tensor:
        def pack(t: Tensor) -> object:
            return keep(t) if is_small(size(t), threshold) else write(t)

        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


def _keep(t: Tensor) -> Tensor:
    return t


def _raise_name_error(t: Tensor) -> object:
    raise NameError("name 'tensor' is not defined")


@fix_threshold.mistake(
    en="The name in `torch.save` was mended, but `return x` was left. When an operation saves its result, the graph "
    "then holds a tensor that holds the graph, and the garbage collector does not see it.",
    ru="Имя в `torch.save` исправлено, а `return x` осталось. Если операция сохраняет свой результат, граф держит "
    "тензор, а тензор — граф, и сборщик мусора этого не видит.",
)
def mends_the_name(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(_keep)(f, x, threshold)


@fix_threshold.mistake(
    en="`torch.save` still gets a name that is not defined. Only tensors of `threshold` entries or more reach that "
    "line.",
    ru="В `torch.save` по-прежнему передано имя, которое нигде не определено. До этой строки доходят только тензоры, в "
    "которых не меньше `threshold` элементов.",
)
def mends_the_leak(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, _raise_name_error)(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["mends_the_leak"].says)
def mends_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(_keep, _raise_name_error)(f, x, threshold)


@fix_threshold.mistake(
    en="`detach_()` was called, which cuts the tensor itself out of the graph; it may be the result.",
    ru="Вызван метод `detach_()`: от графа отсоединён сам тензор, а это может быть результат.",
)
def detaches_in_place(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(lambda t: t.detach_())(f, x, threshold)


@fix_threshold.mistake(
    en="The hook keeps a weak reference. Nothing else holds an intermediate result, so it is gone when backward needs "
    "it.",
    ru="В хуке хранится слабая ссылка. Больше на промежуточный результат ничто не ссылается, и к обратному проходу его "
    "уже нет.",
)
def keeps_a_weak_reference(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed() if isinstance(packed, weakref.ref) else read_file(packed)

    return _saving_to_files(weakref.ref, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="Only the file's name is kept. The object is gone as soon as `pack_hook` returns, and the file with it.",
    ru="Хранится только имя файла. Сам объект исчезает, как только `pack_hook` завершится, а вместе с ним и файл.",
)
def keeps_the_name_of_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return _saving_to_files(Tensor.detach, lambda t: write_file(t).name, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="`pack_hook` returns nothing for a big tensor. It has to return the file object.",
    ru="Для большого тензора `pack_hook` ничего не возвращает, а нужно вернуть объект-файл.",
)
def forgets_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> None:
        write_file(t)

    return _saving_to_files(Tensor.detach, write)(f, x, threshold)


@fix_threshold.mistake(
    en="What comes back has no graph: `return` is missing, or `f` ran under `no_grad()`.",
    ru="У возвращаемого значения нет графа: либо забыт `return`, либо функция `f` выполнена внутри `no_grad()`.",
)
def loses_the_result(f: Function, x: Tensor, threshold: int) -> Tensor:
    with torch.no_grad():
        return _saving_to_files(Tensor.detach)(f, x, threshold)


@fix_threshold.mistake(
    en="`requires_grad_(False)` was called on the tensor itself. Only a leaf's flag can be switched off; `detach()` "
    "gives another tensor with the same memory.",
    ru="Для самого тензора вызван `requires_grad_(False)`. Флаг можно выключить только у листа; `detach()` даёт другой "
    "тензор с той же памятью.",
)
def changes_the_flag(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(lambda t: t.requires_grad_(False))(f, x, threshold)


@fix_threshold.mistake(
    en="Every tensor is written to a file. Those with fewer than `threshold` entries should stay in memory.",
    ru="В файл записывается любой тензор. Те, в которых меньше `threshold` элементов, должны оставаться в памяти.",
)
def writes_everything(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, is_small=lambda size, limit: False)(f, x, threshold)


@fix_threshold.mistake(
    en="No tensor is written to a file any more. Those with `threshold` entries or more should be.",
    ru="В файлы ничего не записывается, а должны записываться тензоры, в которых не меньше `threshold` элементов.",
)
def writes_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, is_small=lambda size, limit: True)(f, x, threshold)


@fix_threshold.mistake(
    en="A tensor of exactly `threshold` entries stays in memory. Only smaller ones should.",
    ru="Тензор ровно из `threshold` элементов остаётся в памяти, а оставаться должны только меньшие.",
)
def includes_the_threshold(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, is_small=int.__le__)(f, x, threshold)


@fix_threshold.mistake(
    en="A big tensor is written and kept as well, so the file saves no memory.",
    ru="Большой тензор записывается в файл и при этом остаётся в памяти, поэтому память не экономится.",
)
def writes_and_keeps(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed[1] if isinstance(packed, tuple) else packed

    return _saving_to_files(Tensor.detach, lambda t: (write_file(t.detach()), t.detach().clone()), unpack)(
        f, x, threshold
    )


@fix_threshold.mistake(
    en="The files are written under names of their own and never deleted. The object with `__del__` has to be kept, "
    "not the name.",
    ru="Файлы записываются под собственными именами и никем не удаляются. Хранить нужно не имя, а объект, у которого "
    "есть `__del__`.",
)
def leaves_the_files(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> str:
        name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
        torch.save(t.detach(), name)
        return name

    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return _saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="A file is deleted or emptied when it is read. A second backward pass reads it again; the object deletes its "
    "file when it goes.",
    ru="Файл удаляется или очищается при чтении. Но второй обратный проход прочтёт этот файл снова, а удалит его сам "
    "объект, когда исчезнет.",
)
def reads_once(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        loaded = read_file(packed)
        os.remove(packed.name)
        return loaded

    return _saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="The comparison is the wrong way round: small tensors are written, and big ones stay in memory.",
    ru="Сравнение перевёрнуто: в файлы записываются малые тензоры, а большие остаются в памяти.",
)
def turns_the_comparison(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, is_small=int.__ge__)(f, x, threshold)


@fix_threshold.mistake(
    en="The threshold is compared with the length, `len(t)` or one dimension of the shape. That is not the number of "
    "entries: 3 rows of 15 are 45.",
    ru="С порогом сравнивается `len(t)` или размер по одному измерению. Это не число элементов: в 3 строках по 15 их "
    "45.",
)
def compares_the_length(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, size=len)(f, x, threshold)


@fix_threshold.mistake(
    en="The threshold is compared with a number of bytes. It is a number of entries, `t.numel()`.",
    ru="С порогом сравнивается число байтов. Но порог задан числом элементов, `t.numel()`.",
)
def compares_bytes(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach, size=nbytes)(f, x, threshold)


@fix_threshold.mistake(
    en="What was read from a file stays in memory after the backward pass. Read it each time, and keep nothing.",
    ru="То, что прочитано из файла, остаётся в памяти и после обратного прохода. Читайте каждый раз заново и ничего не "
    "храните.",
)
def caches_what_it_read(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        if not hasattr(packed, "cache"):
            packed.cache = read_file(packed)
        return packed.cache

    return _saving_to_files(Tensor.detach, write_file, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="Big tensors are turned into bytes in memory: no file is written.",
    ru="Большие тензоры превращаются в байты в памяти: файлов нет.",
)
def writes_to_a_buffer(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> io.BytesIO:
        buffer = io.BytesIO()
        torch.save(t, buffer)
        return buffer

    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        packed.seek(0)
        return torch.load(packed)

    return _saving_to_files(Tensor.detach, write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="`f` ran on a detached copy of `x`: the gradient never reaches `x`.",
    ru="`f` выполнена на отсоединённой копии `x`: до самого `x` градиент не доходит.",
)
def runs_on_a_detached_leaf(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _saving_to_files(Tensor.detach)(f, x.detach().requires_grad_(), threshold)


@fix_threshold.mistake(
    en="All big tensors share one file: each save writes over the one before.",
    ru="У всех больших тензоров один файл: каждое сохранение затирает предыдущее.",
)
def writes_one_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    files: list[Any] = []

    def write(t: Tensor) -> object:
        if files:
            torch.save(t.detach(), files[0].name)
        else:
            files.append(write_file(t.detach()))
        return files[0]

    return _saving_to_files(Tensor.detach, write)(f, x, threshold)
